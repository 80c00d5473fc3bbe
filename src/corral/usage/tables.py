"""The ledger: boots and their calendar, what is or was held, and the records that are never changed."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from corral.store.schema import Instant, identifier, json_value, metadata, ordered_string

ALLOCATION_ID_LENGTH = 60
BOOT_ID_LENGTH = 64
NAME_LENGTH = 120

# One pair of clocks for each boot, from which the instants of its allocations are derived: a clock that is
# set later moves none of them.
usage_boot = Table(
    "usage_boot",
    metadata,
    Column("zone_id", identifier(), primary_key=True),
    Column("boot_id", String(BOOT_ID_LENGTH), primary_key=True),
    Column(
        "offset_us", BigInteger, nullable=False, comment="boot time + this = microseconds of the calendar"
    ),
    Column("first_seen_at", Instant, nullable=False),
)

_OPEN = text("ended_us IS NULL")

usage_allocation = Table(
    "usage_allocation",
    metadata,
    Column("id", ordered_string(ALLOCATION_ID_LENGTH), primary_key=True),
    Column("workload_id", identifier(), nullable=False, index=True),
    Column("attempt", Integer, nullable=False),
    Column("replica", Integer, nullable=False),
    Column("user_id", identifier(), nullable=False),
    Column("organisation_id", identifier(), nullable=False),
    Column(
        "organisation_path",
        Text().with_variant(Text(collation="C"), "postgresql"),
        nullable=False,
        index=True,
        comment="where that was when it was granted",
    ),
    Column("queue_id", identifier(), nullable=False),
    Column("zone_id", identifier(), nullable=False),
    Column("node", String(253), nullable=False),
    # What it was at the grant; null where that was before it was written down and nobody knows it any more.
    Column("kind", String(20), comment="of the workload"),
    Column("zone_name", String(NAME_LENGTH)),
    Column("pool_id", identifier()),
    Column("pool_name", String(NAME_LENGTH)),
    Column("flavor", String(NAME_LENGTH), comment="its name; empty for numbers"),
    Column("device_model", String(250), comment="of all its devices; empty without any"),
    Column("mode", String(10), comment="of its devices; empty without any"),
    Column("preemptible", Boolean),
    Column("resources", json_value(), nullable=False, comment="[[resource, model, amount], …]"),
    Column("boot_id", String(BOOT_ID_LENGTH), nullable=False),
    Column("offset_us", BigInteger, nullable=False, comment="of the boot when it was granted"),
    Column("opened_us", BigInteger, nullable=False),
    Column("beat_us", BigInteger, nullable=False, comment="when it was last seen"),
    Column("recorded_us", BigInteger, nullable=False, comment="what is before it is in records"),
    Column("next_cut_us", BigInteger, nullable=False, comment="end of the first hour that is not"),
    Column("ended_us", BigInteger),
    Column("lost_us", BigInteger, nullable=False, comment="how much of it was lost by an eviction"),
    Column("records", Integer, nullable=False, comment="how many there are"),
    Column("opened_at", Instant, nullable=False),
    Column("ended_at", Instant),
    CheckConstraint("ended_us >= opened_us", name="order"),
    Index("ix_usage_allocation_open", "zone_id", "boot_id", sqlite_where=_OPEN, postgresql_where=_OPEN),
    Index("ix_usage_allocation_user", "user_id", "ended_at"),
    Index("ix_usage_allocation_organisation", "organisation_id", "ended_at"),
    Index("ix_usage_allocation_queue", "queue_id", "ended_at"),
)

# Append-only, in the database too. A record lies within one hour of the calendar; what was written down too
# soon is taken back by one with a negative duration. Sequences grow in the order of the commits, and
# `posted_at` never goes back along them.
usage_record = Table(
    "usage_record",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("posted_at", Instant, nullable=False),
    Column(
        "allocation_id",
        ordered_string(ALLOCATION_ID_LENGTH),
        ForeignKey("usage_allocation.id"),
        nullable=False,
    ),
    Column("number", Integer, nullable=False, comment="among those of the allocation"),
    Column("resource", String(40), nullable=False),
    Column("model", String(120), nullable=False, comment="of the device; empty for what has none"),
    Column("amount", BigInteger, nullable=False),
    Column("outcome", String(10), nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("ended_at", Instant, nullable=False),
    Column("duration_us", BigInteger, nullable=False),
    UniqueConstraint("allocation_id", "number"),
    CheckConstraint("amount > 0", name="amount"),
    CheckConstraint("outcome IN ('used', 'lost')", name="outcome"),
    CheckConstraint(
        "started_at < ended_at AND abs(duration_us) = ended_at - started_at",
        name="duration",
    ),
    CheckConstraint("started_at / 3600000000 = (ended_at - 1) / 3600000000", name="hour"),
    sqlite_autoincrement=True,
)
