"""Workloads: attempts, replicas, allocations, history; what the last plan promised and said."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def identifier() -> sa.String:
    return sa.String(23).with_variant(sa.String(23, collation="C"), "postgresql")


def json_value() -> sa.JSON:
    return sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "observation",
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column(
            "epoch", sa.BigInteger(), nullable=False, comment="of the reconcile loop that saw the zone whole"
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_observation_zone_id")),
        sa.PrimaryKeyConstraint("zone_id", name=op.f("pk_observation")),
    )
    op.create_table(
        "workload",
        sa.Column("id", identifier(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("organisation_id", identifier(), nullable=False),
        sa.Column("user_id", identifier(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("queue_id", identifier(), nullable=False),
        sa.Column("spec", json_value(), nullable=False),
        sa.Column("spec_version", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("wanted", sa.String(length=10), nullable=False),
        sa.Column("because", json_value(), nullable=False, comment="why it is in its state"),
        sa.Column(
            "attempt", sa.Integer(), nullable=False, comment="number of the last one; 0 before the first"
        ),
        sa.Column(
            "fate",
            sa.String(length=20),
            nullable=True,
            comment="what the live attempt ends as, once that is decided",
        ),
        sa.Column("fate_because", json_value(), nullable=True),
        sa.Column(
            "told", sa.Boolean(), nullable=False, comment="the engine was asked to end the live attempt"
        ),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("losses", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("waiting_since", sa.BigInteger(), nullable=False),
        sa.Column(
            "leaving_since",
            sa.BigInteger(),
            nullable=True,
            comment="when the live attempt's fate was decided",
        ),
        sa.Column(
            "not_before", sa.BigInteger(), nullable=True, comment="the pause after an attempt that failed"
        ),
        sa.Column("started_at", sa.BigInteger(), nullable=True, comment="of the last attempt"),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column(
            "discarded_at",
            sa.BigInteger(),
            nullable=True,
            comment="of deleted work: when its files were gone",
        ),
        sa.Column("generation", sa.Integer(), nullable=False, comment="counts changes of the spec; the ETag"),
        sa.Column("revision", sa.Integer(), nullable=False, comment="counts all changes; guards the loops"),
        sa.ForeignKeyConstraint(
            ["organisation_id"], ["organisation.id"], name=op.f("fk_workload_organisation_id")
        ),
        sa.ForeignKeyConstraint(["queue_id"], ["queue.id"], name=op.f("fk_workload_queue_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user_account.id"], name=op.f("fk_workload_user_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_workload_zone_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workload")),
    )
    with op.batch_alter_table("workload", schema=None) as batch_op:
        batch_op.create_index("ix_workload_organisation", ["organisation_id", "id"], unique=False)
        batch_op.create_index("ix_workload_queue", ["queue_id", "state"], unique=False)
        batch_op.create_index("ix_workload_state", ["zone_id", "state", "id"], unique=False)
        batch_op.create_index("ix_workload_user", ["user_id", "id"], unique=False)

    op.create_table(
        "attempt",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("closed_at", sa.BigInteger(), nullable=True),
        sa.Column("because", json_value(), nullable=True, comment="why it closed"),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_attempt_workload_id")),
        sa.PrimaryKeyConstraint("workload_id", "number", name=op.f("pk_attempt")),
    )
    with op.batch_alter_table("attempt", schema=None) as batch_op:
        batch_op.create_index(
            "uq_attempt_live",
            ["workload_id"],
            unique=True,
            sqlite_where=sa.text("closed_at IS NULL"),
            postgresql_where=sa.text("closed_at IS NULL"),
        )

    op.create_table(
        "claim",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("replica", sa.Integer(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("node", sa.String(length=253), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=True, comment="of a reservation; a promise has none"),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_claim_workload_id")),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_claim_zone_id")),
        sa.PrimaryKeyConstraint("workload_id", "replica", name=op.f("pk_claim")),
        comment="what the last plan promised or reserved; the next one renews or drops it",
    )
    with op.batch_alter_table("claim", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_claim_zone_id"), ["zone_id"], unique=False)

    op.create_table(
        "transition",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("because", json_value(), nullable=False),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_transition_workload_id")),
        sa.PrimaryKeyConstraint("workload_id", "number", name=op.f("pk_transition")),
    )
    op.create_table(
        "verdict",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("reason", json_value(), nullable=False),
        sa.ForeignKeyConstraint(["workload_id"], ["workload.id"], name=op.f("fk_verdict_workload_id")),
        sa.PrimaryKeyConstraint("workload_id", name=op.f("pk_verdict")),
        comment="why a waiting workload was not placed, by the last plan that said something new",
    )
    op.create_table(
        "replica",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("node", sa.String(length=253), nullable=False),
        sa.Column("devices", json_value(), nullable=False),
        sa.Column("phase", sa.String(length=20), nullable=False),
        sa.Column("end", sa.String(length=20), nullable=True),
        sa.Column("said_done", sa.Boolean(), nullable=False),
        sa.Column("exit_code", sa.Integer(), nullable=True),
        sa.Column("signal", sa.Integer(), nullable=True),
        sa.Column("detail", sa.String(length=500), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column(
            "checkpoint_at", sa.BigInteger(), nullable=True, comment="when it last said that its work is safe"
        ),
        sa.Column("used", json_value(), nullable=True, comment="counters at its end"),
        sa.ForeignKeyConstraint(
            ["workload_id", "attempt"],
            ["attempt.workload_id", "attempt.number"],
            name=op.f("fk_replica_workload_id_attempt"),
        ),
        sa.PrimaryKeyConstraint("workload_id", "attempt", "number", name=op.f("pk_replica")),
    )
    op.create_table(
        "allocation",
        sa.Column("workload_id", identifier(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("replica", sa.Integer(), nullable=False),
        sa.Column("zone_id", identifier(), nullable=False),
        sa.Column("node", sa.String(length=253), nullable=False),
        sa.Column("devices", json_value(), nullable=False),
        sa.Column("cpu_milli", sa.Integer(), nullable=False),
        sa.Column("memory_mib", sa.Integer(), nullable=False),
        sa.Column("gpu_milli", sa.Integer(), nullable=False),
        sa.Column("granted_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workload_id", "attempt", "replica"],
            ["replica.workload_id", "replica.attempt", "replica.number"],
            name=op.f("fk_allocation_workload_id_attempt_replica"),
        ),
        sa.ForeignKeyConstraint(["zone_id"], ["zone.id"], name=op.f("fk_allocation_zone_id")),
        sa.PrimaryKeyConstraint("workload_id", "attempt", "replica", name=op.f("pk_allocation")),
    )
    with op.batch_alter_table("allocation", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_allocation_zone_id"), ["zone_id"], unique=False)
