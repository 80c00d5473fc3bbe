"""Login links remember who made them."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # They live for hours at most, and whose they are cannot be known any more.
    op.execute("DELETE FROM login_link")
    with op.batch_alter_table("login_link", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column(
                "made_by",
                sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql"),
                nullable=True,
            )
        )
        batch_op.create_foreign_key(batch_op.f("fk_login_link_made_by"), "user_account", ["made_by"], ["id"])
