"""Replicas say since when they have been ready.

Of those that run already nobody asked: without a check, work is ready when it runs.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    comment = "since when it has been ready; null while it is not"
    op.add_column("replica", sa.Column("ready_at", sa.BigInteger(), comment=comment))
    op.execute("UPDATE replica SET ready_at = started_at WHERE phase = 'running'")
