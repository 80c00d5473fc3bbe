"""An account can be deleted; its row stays for the records that name the person."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("user_account", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "deleted_at", sa.BigInteger(), nullable=True, comment="kept for records that name the person"
            )
        )
