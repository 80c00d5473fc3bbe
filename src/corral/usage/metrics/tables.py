"""Reported metrics: how far each run was read, one row for each series, and its points."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Integer,
    Table,
    UniqueConstraint,
)

from corral.store.schema import Instant, identifier, metadata, ordered_string

METRIC_NAME_LENGTH = 120

# Reports are numbered by the engine, growing within a run: what is not above the last number was taken
# before.
metric_run = Table(
    "metric_run",
    metadata,
    Column("workload_id", identifier(), primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("replica", Integer, primary_key=True, autoincrement=False),
    Column("last_number", BigInteger, nullable=False),
    Column(
        "dropped", BigInteger, nullable=False, comment="values that were not taken: too many names, no number"
    ),
)

# Counted as it is written, so that a report costs no count of all that its owner ever reported.
metric_person = Table(
    "metric_person",
    metadata,
    Column("user_id", identifier(), primary_key=True),
    Column("series", BigInteger, nullable=False),
    Column("points", BigInteger, nullable=False),
    comment="how much is kept of what a person's work reported",
)

metric_series = Table(
    "metric_series",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("workload_id", identifier(), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("replica", Integer, nullable=False),
    Column("name", ordered_string(METRIC_NAME_LENGTH), nullable=False),
    Column("reports", BigInteger, nullable=False, comment="how many there were"),
    Column("every", BigInteger, nullable=False, comment="of so many, one is kept as a point"),
    Column("last_step", BigInteger, nullable=False),
    Column("last_at", Instant, nullable=False),
    Column("last_value", Float(53), comment="none where it was no number"),
    Column("lowest", Float(53)),
    Column("highest", Float(53)),
    UniqueConstraint("workload_id", "attempt", "replica", "name"),
    CheckConstraint("every > 0", name="every"),
    sqlite_autoincrement=True,
)

metric_point = Table(
    "metric_point",
    metadata,
    Column(
        "series_id",
        BigInteger().with_variant(Integer(), "sqlite"),
        ForeignKey("metric_series.id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("ordinal", BigInteger, primary_key=True, autoincrement=False, comment="which report, from 0"),
    Column("step", BigInteger, nullable=False),
    Column("at", Instant, nullable=False),
    Column("value", Float(53)),
    sqlite_with_rowid=False,
)
