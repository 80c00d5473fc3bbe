"""What cannot be done with single workloads now."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "trouble",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("step", sa.String(length=20), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("detail", sa.String(length=500), nullable=False),
        sa.Column("since", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_trouble_workload_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_trouble_zone_id")),
        sa.PrimaryKeyConstraint("workload_id", "step", name=op.f("pk_trouble")),
        comment="what cannot be done with a workload now; it is tried again",
    )
    with op.batch_alter_table("trouble", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_trouble_zone_id"), ["zone_id"], unique=False)
