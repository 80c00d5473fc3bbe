"""Queues with their quotas, and flavors with the organisations that may use them."""

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

FLAVOR_NAME_LENGTH = 60

queue = Table(
    "queue",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), nullable=False),
    Column("user_id", identifier(), ForeignKey("user_account.id"), comment="null: of the organisation"),
    Column("priority", Integer, nullable=False),
    Column("policy", String(10), nullable=False),
    Column("reclaim_min_runtime_seconds", Integer, comment="null: as above it"),
    Column("preempt_min_runtime_seconds", Integer, comment="null: as above it"),
    Column("custom_numbers", Boolean, comment="work may ask for numbers instead of a flavor; null: as above"),
    Column("colour", Integer, nullable=False, comment="category 1 to 8 on every page, for life"),
    Column("created_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),
    UniqueConstraint("organisation_id", "user_id"),
    # A null is unlike every other null, so organisations' own queues need an index of their own.
    Index(
        "uq_queue_organisation",
        "organisation_id",
        unique=True,
        sqlite_where=text("user_id IS NULL"),
        postgresql_where=text("user_id IS NULL"),
    ),
    Index("ix_queue_user_id", "user_id"),
    CheckConstraint("policy IN ('fixed', 'elastic')", name="policy"),
    CheckConstraint("colour BETWEEN 1 AND 8", name="colour"),
)

queue_quota = Table(
    "queue_quota",
    metadata,
    Column("queue_id", identifier(), ForeignKey("queue.id"), primary_key=True),
    Column("pool_id", identifier(), ForeignKey("pool.id"), primary_key=True, index=True),
    Column("resource", String(10), primary_key=True),
    Column("guarantee", BigInteger, nullable=False, comment="-1: everything"),
    Column("limit", BigInteger, nullable=False, comment="-1: none"),
    Column("weight", Integer, nullable=False),
    CheckConstraint("resource IN ('gpu_milli', 'cpu_milli', 'memory_mib')", name="resource"),
    CheckConstraint("guarantee >= -1", name="guarantee"),
    CheckConstraint('"limit" >= -1', name="limit"),
    CheckConstraint("weight >= 0", name="weight"),
)

flavor = Table(
    "flavor",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("name", ordered_string(FLAVOR_NAME_LENGTH), nullable=False, unique=True),
    Column("description", String(400), nullable=False),
    Column("cpu_milli", BigInteger, nullable=False),
    Column("memory_mib", BigInteger, nullable=False),
    Column("gpu_count", Integer, nullable=False),
    Column("gpu_memory_mib", BigInteger),
    Column("gpu_fraction_milli", Integer),
    Column("gpu_compute_percent", Integer, nullable=False),
    Column("gpu_profile", String(40)),
    Column("gpu_models", json_value(), nullable=False),
    Column("mode", String(10), comment="of the devices; null without any"),
    Column("kinds", json_value(), nullable=False, server_default="[]", comment="of work; none means all"),
    Column("enabled", Boolean, nullable=False),
    Column("preset", Boolean, nullable=False, comment="made from the first inventory"),
    Column("created_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),
    CheckConstraint("mode IN ('whole', 'vgpu', 'shared', 'mig')", name="mode"),
)

flavor_organisation = Table(
    "flavor_organisation",
    metadata,
    Column("flavor_id", identifier(), ForeignKey("flavor.id"), primary_key=True),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), primary_key=True, index=True),
)
