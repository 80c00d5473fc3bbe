"""Queued work says when it was given another zone."""

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

COMMENT = "when it was last given another zone"


def upgrade() -> None:
    op.add_column("workload", sa.Column("moved_at", sa.BigInteger(), nullable=True, comment=COMMENT))
