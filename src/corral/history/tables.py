"""Shares of queues over time, and every workload that ever arrived."""

from sqlalchemy import BigInteger, Boolean, CheckConstraint, Column, Index, Integer, String, Table, Text

from corral.store.schema import Instant, identifier, json_value, metadata

queue_history = Table(
    "queue_history",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False, index=True),
    Column("zone_id", identifier(), nullable=False),
    Column("pool_id", identifier(), nullable=False),
    Column("queue_id", identifier(), nullable=False),
    Column("resource", String(10), nullable=False),
    Column("guarantee", BigInteger, nullable=False),
    Column("fair_share", BigInteger, nullable=False),
    Column("allocated", BigInteger, nullable=False),
    Column("wanted", BigInteger, nullable=False),
    Column("lent", BigInteger, nullable=False),
    Column("borrowed", BigInteger, nullable=False),
    Index("ix_queue_history_queue", "queue_id", "pool_id", "resource", "sequence"),
    CheckConstraint("resource IN ('gpu_milli', 'cpu_milli', 'memory_mib')", name="resource"),
    sqlite_autoincrement=True,
    comment="each row holds until the next one of the same queue, pool and resource",
)

arrival = Table(
    "arrival",
    metadata,
    Column("workload_id", identifier(), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("zone_id", identifier(), nullable=False),
    Column("queue_id", identifier(), nullable=False),
    Column("user_id", identifier(), nullable=False),
    Column("organisation_id", identifier(), nullable=False),
    Column("organisation_path", Text().with_variant(Text(collation="C"), "postgresql"), nullable=False),
    Column("submitted_at", Instant, nullable=False, index=True),
    Column("started_at", Instant, comment="of its first attempt"),
    Column("ended_at", Instant),
    Column("state", String(20), nullable=False, comment="that it is in, or ended in"),
    Column("attempts", Integer, nullable=False),
    Column("run_us", BigInteger, nullable=False, comment="microseconds of its closed attempts"),
    Column("priority", Integer, nullable=False),
    Column("preemptible", Boolean, nullable=False),
    Column("replicas", Integer, nullable=False),
    Column("flavor", String(120), nullable=False, comment="empty for numbers"),
    Column("request", json_value(), nullable=False, comment="of one replica"),
    Column("time_limit_seconds", BigInteger),
    Index("ix_arrival_user", "user_id", "workload_id"),
    comment="outlives the records of work that was deleted",
)

history_bookmark = Table(
    "history_bookmark",
    metadata,
    Column("zone_id", identifier(), primary_key=True),
    Column("sequence", BigInteger, nullable=False, comment="of the zone's journal, that was read last"),
)
