"""Zones, pools, nodes, devices and their journal; queues, quotas and flavors."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return ordered_string(23)


def ordered_string(length: int) -> sa.String:
    return sa.String(length).with_variant(sa.String(length, collation="C"), "postgresql")


def json_value() -> sa.JSON:
    return sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "flavor",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("name", ordered_string(60), nullable=False),
        sa.Column("description", sa.String(length=400), nullable=False),
        sa.Column("cpu_milli", sa.BigInteger(), nullable=False),
        sa.Column("memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("gpu_count", sa.Integer(), nullable=False),
        sa.Column("gpu_memory_mib", sa.BigInteger(), nullable=True),
        sa.Column("gpu_fraction_milli", sa.Integer(), nullable=True),
        sa.Column("gpu_compute_percent", sa.Integer(), nullable=False),
        sa.Column("gpu_profile", sa.String(length=40), nullable=True),
        sa.Column("gpu_models", json_value(), nullable=False),
        sa.Column("mode", sa.String(length=10), nullable=True, comment="of the devices; null without any"),
        sa.Column("enabled", sa.Boolean(), nullable=False),
        sa.Column("preset", sa.Boolean(), nullable=False, comment="made from the first inventory"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("mode IN ('whole', 'vgpu', 'shared', 'mig')", name=op.f("ck_flavor_mode")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flavor")),
        sa.UniqueConstraint("name", name=op.f("uq_flavor_name")),
    )
    op.create_table(
        "zone",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("name", ordered_string(120), nullable=False),
        sa.Column("engine", sa.String(length=20), nullable=False),
        sa.Column(
            "mark", identifier(), nullable=False, comment="on all that its engine makes, to know its own"
        ),
        sa.Column(
            "inventory_revision", sa.BigInteger(), nullable=True, comment="of the engine's last report"
        ),
        sa.Column("seen_at", sa.BigInteger(), nullable=True, comment="when its engine last reported"),
        sa.Column(
            "presets_made_at",
            sa.BigInteger(),
            nullable=True,
            comment="when flavors were made from its first inventory",
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("engine IN ('local', 'kubernetes', 'simulated')", name=op.f("ck_zone_engine")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_zone")),
        sa.UniqueConstraint("name", name=op.f("uq_zone_name")),
    )
    op.create_table(
        "flavor_organisation",
        sa.Column("flavor_id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.ForeignKeyConstraint(["flavor_id"], ["flavor.id"], name=op.f("fk_flavor_organisation_flavor_id")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_flavor_organisation_organisation_id")
        ),
        sa.PrimaryKeyConstraint("flavor_id", "organisation_id", name=op.f("pk_flavor_organisation")),
    )
    with op.batch_alter_table("flavor_organisation", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_flavor_organisation_organisation_id"), ["organisation_id"], unique=False
        )

    op.create_table(
        "pool",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("name", ordered_string(120), nullable=False),
        sa.Column("labels", json_value(), nullable=False, comment="nodes that carry them are in it"),
        sa.Column("arrangement", sa.String(length=10), nullable=False),
        sa.Column("unit_gpu_milli", sa.Integer(), nullable=False),
        sa.Column("priority_across_queues", sa.Boolean(), nullable=False),
        sa.Column("reservations", sa.Integer(), nullable=False),
        sa.Column("topologies", json_value(), nullable=False),
        sa.Column(
            "least_strength",
            sa.String(length=10),
            nullable=False,
            comment="of isolation that slices here need",
        ),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("arrangement IN ('packing', 'spreading')", name=op.f("ck_pool_arrangement")),
        sa.CheckConstraint(
            "least_strength IN ('none', 'hook', 'driver', 'kernel', 'hardware')",
            name=op.f("ck_pool_least_strength"),
        ),
        sa.CheckConstraint("reservations >= 0", name=op.f("ck_pool_reservations")),
        sa.CheckConstraint("unit_gpu_milli BETWEEN 1 AND 1000", name=op.f("ck_pool_unit_gpu_milli")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_pool_zone_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pool")),
        sa.UniqueConstraint("zone_id", "name", name=op.f("uq_pool_zone_id_name")),
    )
    op.create_table(
        "queue",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=True, comment="null: of the organisation"),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("policy", sa.String(length=10), nullable=False),
        sa.Column("reclaim_min_runtime_seconds", sa.Integer(), nullable=True, comment="null: as above it"),
        sa.Column("preempt_min_runtime_seconds", sa.Integer(), nullable=True, comment="null: as above it"),
        sa.Column(
            "custom_numbers",
            sa.Boolean(),
            nullable=True,
            comment="work may ask for numbers instead of a flavor; null: as above",
        ),
        sa.Column("colour", sa.Integer(), nullable=False, comment="category 1 to 8 on every page, for life"),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.CheckConstraint("policy IN ('fixed', 'elastic')", name=op.f("ck_queue_policy")),
        sa.CheckConstraint("colour BETWEEN 1 AND 8", name=op.f("ck_queue_colour")),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_queue_organisation_id")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_queue_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_queue")),
        sa.UniqueConstraint("organisation_id", "user_id", name=op.f("uq_queue_organisation_id_user_id")),
    )
    with op.batch_alter_table("queue", schema=None) as batch_op:
        batch_op.create_index("ix_queue_user_id", ["user_id"], unique=False)
        batch_op.create_index(
            "uq_queue_organisation",
            ["organisation_id"],
            unique=True,
            sqlite_where=sa.text("user_id IS NULL"),
            postgresql_where=sa.text("user_id IS NULL"),
        )

    op.create_table(
        "zone_journal",
        sa.Column(
            "sequence",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=True,
            nullable=False,
        ),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("object_id", identifier(), nullable=False),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_zone_journal_zone_id")),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_zone_journal")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("zone_journal", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_zone_journal_at"), ["at"], unique=False)
        batch_op.create_index("ix_zone_journal_zone", ["zone_id", "sequence"], unique=False)

    op.create_table(
        "node",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("name", ordered_string(120), nullable=False, comment="by which the engine knows it"),
        sa.Column("pool_id", identifier(), nullable=False),
        sa.Column("cpu_milli", sa.BigInteger(), nullable=False),
        sa.Column("memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("disk_mib", sa.BigInteger(), nullable=True),
        sa.Column("pods", sa.Integer(), nullable=False),
        sa.Column("labels", json_value(), nullable=False),
        sa.Column("taints", json_value(), nullable=False),
        sa.Column("data", json_value(), nullable=False),
        sa.Column("images", json_value(), nullable=False),
        sa.Column("links", json_value(), nullable=False),
        sa.Column("cordoned", sa.Boolean(), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("seen_at", sa.BigInteger(), nullable=False),
        sa.Column("facts", json_value(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False, comment="counts all changes; the ETag"),
        sa.CheckConstraint("state IN ('ready', 'lost')", name=op.f("ck_node_state")),
        sa.ForeignKeyConstraint(["pool_id"], ["pool.id"], name=op.f("fk_node_pool_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_node_zone_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_node")),
        sa.UniqueConstraint("zone_id", "name", name=op.f("uq_node_zone_id_name")),
    )
    with op.batch_alter_table("node", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_node_pool_id"), ["pool_id"], unique=False)

    op.create_table(
        "queue_quota",
        sa.Column("queue_id", identifier(), nullable=False),
        sa.Column("pool_id", identifier(), nullable=False),
        sa.Column("resource", sa.String(length=10), nullable=False),
        sa.Column("guarantee", sa.BigInteger(), nullable=False, comment="-1: everything"),
        sa.Column("limit", sa.BigInteger(), nullable=False, comment="-1: none"),
        sa.Column("weight", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "resource IN ('gpu_milli', 'cpu_milli', 'memory_mib')", name=op.f("ck_queue_quota_resource")
        ),
        sa.CheckConstraint('"limit" >= -1', name=op.f("ck_queue_quota_limit")),
        sa.CheckConstraint("guarantee >= -1", name=op.f("ck_queue_quota_guarantee")),
        sa.CheckConstraint("weight >= 0", name=op.f("ck_queue_quota_weight")),
        sa.ForeignKeyConstraint(["pool_id"], ["pool.id"], name=op.f("fk_queue_quota_pool_id")),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_queue_quota_queue_id")),
        sa.PrimaryKeyConstraint("queue_id", "pool_id", "resource", name=op.f("pk_queue_quota")),
    )
    with op.batch_alter_table("queue_quota", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_queue_quota_pool_id"), ["pool_id"], unique=False)

    op.create_table(
        "device",
        sa.Column("node_id", identifier(), nullable=False),
        sa.Column("id", ordered_string(120), nullable=False, comment="by which the engine knows it"),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("vendor", sa.String(length=40), nullable=False),
        sa.Column("model", sa.String(length=120), nullable=False),
        sa.Column("memory_mib", sa.BigInteger(), nullable=False),
        sa.Column("mode", sa.String(length=10), nullable=False),
        sa.Column("geometry", json_value(), nullable=True),
        sa.Column("instances", json_value(), nullable=True),
        sa.Column("health", sa.String(length=10), nullable=False),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        sa.Column("facts", json_value(), nullable=False),
        sa.CheckConstraint("health IN ('healthy', 'faulty', 'offline')", name=op.f("ck_device_health")),
        sa.CheckConstraint("mode IN ('any', 'whole', 'shared', 'mig')", name=op.f("ck_device_mode")),
        sa.ForeignKeyConstraint(["node_id"], ["node.id"], name=op.f("fk_device_node_id")),
        sa.PrimaryKeyConstraint("node_id", "id", name=op.f("pk_device")),
    )
