"""Rows that a simulated zone is made of. Instants are microseconds since 1970, or never (`world.NEVER`)."""

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
    text,
)

from corral.store.schema import identifier, json_value, metadata, ordered_string

NAME_LENGTH = 120
RUN_LENGTH = 120
DETAIL_LENGTH = 500
# No zone table is imported: engines stand below zones and know them by their id.
_ZONE = "simulated_zone.zone_id"
_KNOWN = text("state = 'known'")
_DISCARDED = text("state = 'discarded'")

simulated_zone = Table(
    "simulated_zone",
    metadata,
    Column("zone_id", identifier(), ForeignKey("zone.id"), primary_key=True),
    Column("epoch", String(40), nullable=False, comment="of cursors; another one makes all of them unknown"),
    Column("horizon", BigInteger, nullable=False, comment="the zone's time never goes behind it"),
    Column("created_at", BigInteger, nullable=False),
    Column("description", Text, nullable=False, comment="of its nodes, as it was written"),
    Column("description_revision", Integer, nullable=False),
    Column("inventory_revision", Integer, nullable=False, comment="also counts nodes lost and back"),
    comment="simulated zones, and how far their time has come",
)

simulated_node = Table(
    "simulated_node",
    metadata,
    Column("zone_id", identifier(), ForeignKey(_ZONE), primary_key=True),
    Column("name", ordered_string(NAME_LENGTH), primary_key=True),
    Column("lost", Boolean, nullable=False),
    Column("start_seconds", Integer, comment="how long a start takes; null is the usual time"),
    Column("refusal", String(DETAIL_LENGTH), comment="why every start fails; null is none"),
    Column("cpu_us", BigInteger, nullable=False, comment="CPU time of runs that were forgotten"),
    comment="nodes of simulated zones that are not as their description says, or that have run something",
)

simulated_run = Table(
    "simulated_run",
    metadata,
    Column("zone_id", identifier(), ForeignKey(_ZONE), primary_key=True),
    Column("run", ordered_string(RUN_LENGTH), primary_key=True),
    Column("workload", ordered_string(NAME_LENGTH), nullable=False),
    Column("replica", ordered_string(NAME_LENGTH), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("node", ordered_string(NAME_LENGTH), nullable=False),
    Column("owner", String(NAME_LENGTH), nullable=False),
    Column("devices", json_value(), nullable=False, comment="[id, MiB held, MiB used] of each"),
    Column("cpu_milli", BigInteger, nullable=False),
    Column("memory_mib", BigInteger, nullable=False),
    Column("gpu_percent", Integer, nullable=False),
    Column("duration_us", BigInteger, nullable=False, comment="of the work as a whole"),
    Column("carried_us", BigInteger, nullable=False, comment="of it done by earlier attempts"),
    Column("save_us", BigInteger, nullable=False, comment="between a signal and leaving"),
    Column("starts_at", BigInteger, nullable=False),
    Column("runs_at", BigInteger, nullable=False),
    Column("leaves_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
    Column("ending", String(10), nullable=False, comment="how it ends at ends_at"),
    Column("detail", String(DETAIL_LENGTH), nullable=False),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("timed_out", Boolean, nullable=False),
    Column("state", String(10), nullable=False),
    Column("discarded_at", BigInteger, comment="a name is kept for a while, so that it never runs twice"),
    CheckConstraint("state IN ('known', 'forgotten', 'discarded')", name="state"),
    Index("ix_simulated_run_workload", "zone_id", "workload"),
    # Everything that asks what comes next is answered from the index alone.
    Index(
        "ix_simulated_run_ends",
        "zone_id",
        "ends_at",
        "starts_at",
        "runs_at",
        "leaves_at",
        "state",
        sqlite_where=_KNOWN,
        postgresql_where=_KNOWN,
    ),
    Index(
        "ix_simulated_run_node", "zone_id", "node", "ends_at", sqlite_where=_KNOWN, postgresql_where=_KNOWN
    ),
    Index(
        "ix_simulated_run_discarded",
        "zone_id",
        "discarded_at",
        sqlite_where=_DISCARDED,
        postgresql_where=_DISCARDED,
    ),
    comment="runs in simulated zones, with the instants at which their phases begin",
)
