"""Zones of any kind: what is behind each, and who drives it since when."""

import sqlalchemy as sa
from alembic import op

from corral.store.schema import json_value

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

KINDS = "kind IN ('local', 'kubernetes', 'simulated')"


def upgrade() -> None:
    with op.batch_alter_table("zone", schema=None) as batch_op:
        batch_op.drop_constraint(op.f("ck_zone_engine"), type_="check")
        batch_op.alter_column("engine", new_column_name="kind")
        batch_op.add_column(
            sa.Column(
                "identity",
                sa.String(length=80),
                nullable=True,
                comment="of what is behind it: a data directory, a cluster",
            )
        )
        batch_op.add_column(
            sa.Column("settings", json_value(), nullable=True, comment="of a simulated zone: its nodes")
        )
        batch_op.add_column(
            sa.Column(
                "removed_at",
                sa.BigInteger(),
                nullable=True,
                comment="kept for the history of its work; its name is free again",
            )
        )
    with op.batch_alter_table("zone", schema=None) as batch_op:
        batch_op.create_check_constraint(op.f("ck_zone_kind"), KINDS)
        batch_op.create_unique_constraint(op.f("uq_zone_identity"), ["identity"])
    op.create_table(
        "leadership",
        sa.Column("name", sa.String(length=80), nullable=False, comment="loop, or loop/zone"),
        sa.Column("holder", sa.String(length=80), nullable=False, comment="host/process id/random"),
        sa.Column("epoch", sa.BigInteger(), nullable=False, comment="grows with every change of holder"),
        sa.Column("since", sa.BigInteger(), nullable=False, comment="when this holder took it"),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_leadership")),
    )
    # Epochs go on: what was written under an earlier one stays fenced off.
    op.execute(
        "INSERT INTO leadership (name, holder, epoch, since, expires_at)"
        " SELECT name, holder, epoch, expires_at, expires_at FROM lease"
    )
    op.drop_table("lease")
