"""Places can be kept for work that restarts; pools say for how long at most."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    comment = "of a replica that ended: its place is kept for a restart"
    op.add_column("allocation", sa.Column("held_until", sa.BigInteger(), comment=comment))
    usual = sa.Column("most_hold_seconds", sa.Integer(), nullable=False, server_default=sa.text("600"))
    op.add_column("pool", usual)
