"""Simulated zones: their nodes and runs are rows."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def ordered_string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def json_value() -> sa.JSON:
    return sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def upgrade() -> None:
    op.create_table(
        "simulated_zone",
        sa.Column("zone_id", ordered_string(23), nullable=False),
        sa.Column(
            "epoch",
            sa.String(40),
            nullable=False,
            comment="of cursors; another one makes all of them unknown",
        ),
        sa.Column("horizon", sa.BigInteger(), nullable=False, comment="the zone's time never goes behind it"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False, comment="of its nodes, as it was written"),
        sa.Column("description_revision", sa.Integer(), nullable=False),
        sa.Column(
            "inventory_revision", sa.Integer(), nullable=False, comment="also counts nodes lost and back"
        ),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_simulated_zone_zone_id")),
        sa.PrimaryKeyConstraint("zone_id", name=op.f("pk_simulated_zone")),
        comment="simulated zones, and how far their time has come",
    )
    op.create_table(
        "simulated_node",
        sa.Column("zone_id", ordered_string(23), nullable=False),
        sa.Column("name", ordered_string(120), nullable=False),
        sa.Column("lost", sa.Boolean(), nullable=False),
        sa.Column("start_seconds", sa.Integer(), comment="how long a start takes; null is the usual time"),
        sa.Column("refusal", sa.String(500), comment="why every start fails; null is none"),
        sa.Column("cpu_us", sa.BigInteger(), nullable=False, comment="CPU time of runs that were forgotten"),
        sa.ForeignKeyConstraint(
            ["zone_id"], ["simulated_zone.zone_id"], name=op.f("fk_simulated_node_zone_id")
        ),
        sa.PrimaryKeyConstraint("zone_id", "name", name=op.f("pk_simulated_node")),
        comment="nodes of simulated zones that are not as their description says, or that have run something",
    )
    _create_runs()


def _create_runs() -> None:
    op.create_table(
        "simulated_run",
        sa.Column("zone_id", ordered_string(23), nullable=False),
        sa.Column("run", ordered_string(120), nullable=False),
        sa.Column("workload", ordered_string(120), nullable=False),
        sa.Column("replica", ordered_string(120), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("node", ordered_string(120), nullable=False),
        sa.Column("owner", sa.String(120), nullable=False),
        sa.Column("devices", json_value(), nullable=False, comment="[id, MiB held, MiB used] of each"),
        sa.Column("cpu_milli", sa.BigInteger(), nullable=False),
        sa.Column("memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("gpu_percent", sa.Integer(), nullable=False),
        sa.Column("duration_us", sa.BigInteger(), nullable=False, comment="of the work as a whole"),
        sa.Column("carried_us", sa.BigInteger(), nullable=False, comment="of it done by earlier attempts"),
        sa.Column("save_us", sa.BigInteger(), nullable=False, comment="between a signal and leaving"),
        sa.Column("starts_at", sa.BigInteger(), nullable=False),
        sa.Column("runs_at", sa.BigInteger(), nullable=False),
        sa.Column("leaves_at", sa.BigInteger(), nullable=False),
        sa.Column("ends_at", sa.BigInteger(), nullable=False),
        sa.Column("ending", sa.String(10), nullable=False, comment="how it ends at ends_at"),
        sa.Column("detail", sa.String(500), nullable=False),
        sa.Column("exit_code", sa.Integer()),
        sa.Column("signal", sa.Integer()),
        sa.Column("timed_out", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(10), nullable=False),
        sa.Column(
            "discarded_at",
            sa.BigInteger(),
            comment="a name is kept for a while, so that it never runs twice",
        ),
        sa.CheckConstraint(
            "state IN ('known', 'forgotten', 'discarded')", name=op.f("ck_simulated_run_state")
        ),
        sa.ForeignKeyConstraint(
            ["zone_id"], ["simulated_zone.zone_id"], name=op.f("fk_simulated_run_zone_id")
        ),
        sa.PrimaryKeyConstraint("zone_id", "run", name=op.f("pk_simulated_run")),
        comment="runs in simulated zones, with the instants at which their phases begin",
    )
    instants = ["zone_id", "ends_at", "starts_at", "runs_at", "leaves_at", "state"]
    op.create_index("ix_simulated_run_workload", "simulated_run", ["zone_id", "workload"])
    _create_partial_index("ends", instants, "known")
    _create_partial_index("node", ["zone_id", "node", "ends_at"], "known")
    _create_partial_index("discarded", ["zone_id", "discarded_at"], "discarded")


def _create_partial_index(name: str, columns: list[str], state: str) -> None:
    where = sa.text(f"state = '{state}'")
    op.create_index(
        f"ix_simulated_run_{name}", "simulated_run", columns, sqlite_where=where, postgresql_where=where
    )
