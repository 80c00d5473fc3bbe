"""History for what-if, reports and balances: shares of queues, changes of the cluster, arrivals."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def json_value() -> sa.JSON:
    return sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")


def sequence() -> sa.Column[int]:
    kind = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    return sa.Column("sequence", kind, autoincrement=True, nullable=False)


def upgrade() -> None:
    op.create_table(
        "cluster_history",
        sequence(),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(10), nullable=False),
        sa.Column("object_id", identifier(), nullable=False),
        sa.Column("before", json_value(), comment="null: it was not there, or not recorded yet"),
        sa.Column("after", json_value(), comment="null: it is gone"),
        sa.CheckConstraint("kind IN ('node', 'pool', 'queue')", name=op.f("ck_cluster_history_kind")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_cluster_history")),
        comment="nodes, pools and what queues are entitled to, as values, at every change",
        sqlite_autoincrement=True,
    )
    op.create_index("ix_cluster_history_at", "cluster_history", ["at"])
    op.create_index("ix_cluster_history_object", "cluster_history", ["object_id", "sequence"])
    numbers = ("guarantee", "fair_share", "allocated", "wanted", "lent", "borrowed")
    op.create_table(
        "queue_history",
        sequence(),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("pool_id", identifier(), nullable=False),
        sa.Column("queue_id", identifier(), nullable=False),
        sa.Column("resource", sa.String(10), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in numbers),
        sa.CheckConstraint(
            "resource IN ('gpu_milli', 'cpu_milli', 'memory_mib')", name=op.f("ck_queue_history_resource")
        ),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_queue_history")),
        comment="each row holds until the next one of the same queue, pool and resource",
        sqlite_autoincrement=True,
    )
    op.create_index("ix_queue_history_at", "queue_history", ["at"])
    op.create_index(
        "ix_queue_history_queue", "queue_history", ["queue_id", "pool_id", "resource", "sequence"]
    )
    _create_arrivals()
    op.create_table(
        "history_bookmark",
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column(
            "sequence", sa.BigInteger(), nullable=False, comment="of the zone's journal, that was read last"
        ),
        sa.PrimaryKeyConstraint("zone_id", name=op.f("pk_history_bookmark")),
    )


def _create_arrivals() -> None:
    op.create_table(
        "arrival",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("queue_id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column(
            "organisation_path",
            sa.Text().with_variant(sa.Text(collation="C"), "postgresql"),
            nullable=False,
        ),
        sa.Column("submitted_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), comment="of its first attempt"),
        sa.Column("ended_at", sa.BigInteger()),
        sa.Column("state", sa.String(20), nullable=False, comment="that it is in, or ended in"),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("run_us", sa.BigInteger(), nullable=False, comment="microseconds of its closed attempts"),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("preemptible", sa.Boolean(), nullable=False),
        sa.Column("replicas", sa.Integer(), nullable=False),
        sa.Column("flavor", sa.String(120), nullable=False, comment="empty for numbers"),
        sa.Column("request", json_value(), nullable=False, comment="of one replica"),
        sa.Column("time_limit_seconds", sa.BigInteger()),
        sa.PrimaryKeyConstraint("workload_id", name=op.f("pk_arrival")),
        comment="outlives the records of work that was deleted",
    )
    op.create_index("ix_arrival_submitted_at", "arrival", ["submitted_at"])
    op.create_index("ix_arrival_user", "arrival", ["user_id", "workload_id"])
