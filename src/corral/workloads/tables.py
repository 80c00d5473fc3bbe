"""Workloads, their attempts and replicas, what is allocated to them, and how they came to be where they are.

Allocations are those that hold something now; a row goes when the engine has reported that the replica is
gone. What was held before is in the usage ledger, and where a replica ran in its own row.
"""

from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    text,
)

from corral.store.schema import Instant, document_value, identifier, json_value, metadata

NAME_LENGTH = 80
NODE_LENGTH = 253

workload = Table(
    "workload",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("kind", String(20), nullable=False),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), nullable=False),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False),
    Column("parent_id", identifier(), ForeignKey("workload.id"), comment="for which it was created"),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False),
    Column("queue_id", identifier(), ForeignKey("queue.id"), nullable=False),
    Column("spec", document_value(), nullable=False),
    Column("spec_version", Integer, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("state", String(20), nullable=False),
    Column("wanted", String(10), nullable=False),
    Column("because", document_value(), nullable=False, comment="why it is in its state"),
    Column("attempt", Integer, nullable=False, comment="number of the last one; 0 before the first"),
    Column("fate", String(20), comment="what the live attempt ends as, once that is decided"),
    Column("fate_because", document_value()),
    Column("told", Boolean, nullable=False, comment="the engine was asked to end the live attempt"),
    Column("failures", Integer, nullable=False),
    Column("losses", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("waiting_since", Instant, nullable=False),
    Column("leaving_since", Instant, comment="when the live attempt's fate was decided"),
    Column("not_before", Instant, comment="the pause after an attempt that failed"),
    Column("started_at", Instant, comment="of the last attempt"),
    Column("ended_at", Instant),
    Column("exit_code", Integer),
    Column("discarded_at", Instant, comment="of deleted work: when its files were gone"),
    Column("moved_at", Instant, comment="when it was last given another zone"),
    Column("generation", Integer, nullable=False, comment="counts changes of the spec; the ETag"),
    Column("revision", Integer, nullable=False, comment="counts all changes; guards the loops"),
    Index("ix_workload_user", "user_id", "id"),
    Index("ix_workload_organisation", "organisation_id", "id"),
    Index("ix_workload_state", "zone_id", "state", "id"),
    Index("ix_workload_queue", "queue_id", "state"),
    Index(
        "ix_workload_parent",
        "parent_id",
        "id",
        sqlite_where=text("parent_id IS NOT NULL"),
        postgresql_where=text("parent_id IS NOT NULL"),
    ),
)

attempt = Table(
    "attempt",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("opened_at", Instant, nullable=False),
    Column("closed_at", Instant),
    Column("because", document_value(), comment="why it closed"),
    Index(
        "uq_attempt_live",
        "workload_id",
        unique=True,
        sqlite_where=text("closed_at IS NULL"),
        postgresql_where=text("closed_at IS NULL"),
    ),
)

replica = Table(
    "replica",
    metadata,
    Column("workload_id", identifier(), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("node", String(NODE_LENGTH), nullable=False),
    Column("devices", json_value(), nullable=False),
    Column("phase", String(20), nullable=False),
    Column("end", String(20)),
    Column("said_done", Boolean, nullable=False),
    Column("exit_code", Integer),
    Column("signal", Integer),
    Column("detail", String(500), nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("ready_at", Instant, comment="since when it has been ready; null while it is not"),
    Column("checkpoint_at", Instant, comment="when it last said that its work is safe"),
    Column("used", json_value(), comment="counters at its end"),
    ForeignKeyConstraint(["workload_id", "attempt"], ["attempt.workload_id", "attempt.number"]),
)

allocation = Table(
    "allocation",
    metadata,
    Column("workload_id", identifier(), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("replica", Integer, primary_key=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False, index=True),
    Column("node", String(NODE_LENGTH), nullable=False),
    Column("devices", json_value(), nullable=False),
    Column("cpu_milli", Integer, nullable=False),
    Column("memory_mib", Integer, nullable=False),
    Column("gpu_milli", Integer, nullable=False),
    Column("granted_at", Instant, nullable=False),
    Column("held_until", Instant, comment="of a replica that ended: its place is kept for a restart"),
    ForeignKeyConstraint(
        ["workload_id", "attempt", "replica"], ["replica.workload_id", "replica.attempt", "replica.number"]
    ),
)

transition = Table(
    "transition",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("state", String(20), nullable=False),
    Column("because", document_value(), nullable=False),
)

claim = Table(
    "claim",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("replica", Integer, primary_key=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False, index=True),
    Column("node", String(NODE_LENGTH), nullable=False),
    Column("at", Instant, comment="of a reservation; a promise has none"),
    comment="what the last plan promised or reserved; the next one renews or drops it",
)

verdict = Table(
    "verdict",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("at", Instant, nullable=False),
    Column("reason", json_value(), nullable=False),
    comment="why a waiting workload was not placed, by the last plan that said something new",
)

trouble = Table(
    "trouble",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("step", String(20), primary_key=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False, index=True),
    Column("detail", String(500), nullable=False),
    Column("since", Instant, nullable=False),
    comment="what cannot be done with a workload now; it is tried again",
)

expectation = Table(
    "expectation",
    metadata,
    Column("workload_id", identifier(), ForeignKey("workload.id"), primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("zone_id", identifier(), ForeignKey("zone.id"), nullable=False),
    Column("told_at", Instant, nullable=False),
    Column("starts_at", Instant, nullable=False),
    Index("ix_expectation_zone", "zone_id", "told_at"),
    comment="when an attempt was first expected to start; compared with when it did",
)

departure = Table(
    "departure",
    metadata,
    Column("zone_id", identifier(), ForeignKey("zone.id"), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), primary_key=True),
    Column("since", Instant, nullable=False),
    comment="people whose account was deleted and whose home is still to be removed there",
)
