"""Zones, pools, nodes, devices, and the journal of what scheduling can see."""

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
    UniqueConstraint,
    text,
)

from corral.store.schema import Instant, identifier, json_value, metadata, ordered_string
from corral.zones.rules import USUAL_CAPS

NAME_LENGTH = 120
DEVICE_ID_LENGTH = 120

zone = Table(
    "zone",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("name", ordered_string(NAME_LENGTH), nullable=False, unique=True),
    Column("kind", String(20), nullable=False),
    Column("identity", String(80), unique=True, comment="of what is behind it: a data directory, a cluster"),
    Column("settings", json_value(), comment="of a simulated zone: its nodes"),
    Column("mark", identifier(), nullable=False, comment="on all that its engine makes, to know its own"),
    Column("inventory_revision", BigInteger, comment="of the engine's last report"),
    Column("seen_at", Instant, comment="when its engine last reported"),
    Column("presets_made_at", Instant, comment="when flavors were made from its first inventory"),
    Column("created_at", Instant, nullable=False),
    Column("removed_at", Instant, comment="kept for the history of its work; its name is free again"),
    Column("generation", Integer, nullable=False),
    CheckConstraint("kind IN ('local', 'kubernetes', 'simulated')", name="kind"),
)

pool = Table(
    "pool",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False),
    Column("name", ordered_string(NAME_LENGTH), nullable=False),
    Column("labels", json_value(), nullable=False, comment="nodes that carry them are in it"),
    Column("arrangement", String(10), nullable=False),
    Column("unit_gpu_milli", Integer, nullable=False),
    Column("priority_across_queues", Boolean, nullable=False),
    Column("reservations", Integer, nullable=False),
    Column("topologies", json_value(), nullable=False),
    Column("least_strength", String(10), nullable=False, comment="of isolation that slices here need"),
    Column("created_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),
    Column("most_grace_seconds", Integer, nullable=False, server_default=text(str(USUAL_CAPS.grace_seconds))),
    Column("most_retries", Integer, nullable=False, server_default=text(str(USUAL_CAPS.retries))),
    Column("most_replicas", Integer, nullable=False, server_default=text(str(USUAL_CAPS.replicas))),
    Column("most_hold_seconds", Integer, nullable=False, server_default=text(str(USUAL_CAPS.hold_seconds))),
    UniqueConstraint("zone_id", "name"),
    CheckConstraint("arrangement IN ('packing', 'spreading')", name="arrangement"),
    CheckConstraint("unit_gpu_milli BETWEEN 1 AND 1000", name="unit_gpu_milli"),
    CheckConstraint("reservations >= 0", name="reservations"),
    CheckConstraint(
        "least_strength IN ('none', 'hook', 'driver', 'kernel', 'hardware')", name="least_strength"
    ),
)

node = Table(
    "node",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False),
    Column("name", ordered_string(NAME_LENGTH), nullable=False, comment="by which the engine knows it"),
    Column("pool_id", identifier(), ForeignKey("pool.id"), nullable=False, index=True),
    Column("cpu_milli", BigInteger, nullable=False),
    Column("memory_mib", BigInteger, nullable=False),
    Column("disk_mib", BigInteger),
    Column("pods", Integer, nullable=False),
    Column("labels", json_value(), nullable=False),
    Column("taints", json_value(), nullable=False),
    Column("data", json_value(), nullable=False),
    Column("images", json_value(), nullable=False),
    Column("links", json_value(), nullable=False),
    Column("cordoned", Boolean, nullable=False),
    Column("simulated", Boolean, nullable=False),
    Column("state", String(10), nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("facts", json_value(), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("revision", Integer, nullable=False, comment="counts all changes; the ETag"),
    UniqueConstraint("zone_id", "name"),
    CheckConstraint("state IN ('ready', 'lost')", name="state"),
)

device = Table(
    "device",
    metadata,
    Column("node_id", identifier(), ForeignKey("node.id"), primary_key=True),
    Column("id", ordered_string(DEVICE_ID_LENGTH), primary_key=True, comment="by which the engine knows it"),
    Column("index", Integer, nullable=False),
    Column("vendor", String(40), nullable=False),
    Column("model", String(NAME_LENGTH), nullable=False),
    Column("memory_mib", BigInteger, nullable=False),
    Column("mode", String(10), nullable=False),
    Column("geometry", json_value()),
    Column("instances", json_value()),
    Column("health", String(10), nullable=False),
    Column("simulated", Boolean, nullable=False),
    Column("facts", json_value(), nullable=False),
    CheckConstraint("mode IN ('any', 'whole', 'shared', 'mig')", name="mode"),
    CheckConstraint("health IN ('healthy', 'faulty', 'offline')", name="health"),
)

zone_journal = Table(
    "zone_journal",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False),
    Column("at", Instant, nullable=False, index=True),
    Column("kind", String(20), nullable=False),
    Column("object_id", identifier(), nullable=False),
    Index("ix_zone_journal_zone", "zone_id", "sequence"),
    sqlite_autoincrement=True,
)

cluster_history = Table(
    "cluster_history",
    metadata,
    Column("sequence", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False, index=True),
    Column("kind", String(10), nullable=False),
    Column("object_id", identifier(), nullable=False),
    Column("before", json_value(), comment="null: it was not there, or not recorded yet"),
    Column("after", json_value(), comment="null: it is gone"),
    Index("ix_cluster_history_object", "object_id", "sequence"),
    CheckConstraint("kind IN ('node', 'pool', 'queue')", name="kind"),
    sqlite_autoincrement=True,
    comment="nodes, pools and what queues are entitled to, as values, at every change",
)
