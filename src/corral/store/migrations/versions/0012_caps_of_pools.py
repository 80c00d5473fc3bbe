"""Pools say how much of what others wait for one workload may ask for."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

CAPS = {"most_grace_seconds": "600", "most_retries": "10", "most_replicas": "256"}


def upgrade() -> None:
    with op.batch_alter_table("pool", schema=None) as batch_op:
        for name, usual in CAPS.items():
            batch_op.add_column(sa.Column(name, sa.Integer(), nullable=False, server_default=sa.text(usual)))
