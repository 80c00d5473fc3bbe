"""Uploads have the form that their sender declared."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("upload", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "form",
                sa.String(length=10),
                nullable=True,
                comment="what it was declared to be; null where that was not asked yet",
            )
        )
