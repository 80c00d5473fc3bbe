"""Leases: which process runs a loop, and the epoch that fences off the one before; what it has seen."""

from sqlalchemy import BigInteger, Column, ForeignKey, String, Table

from corral.store.schema import Instant, identifier, metadata

lease = Table(
    "lease",
    metadata,
    Column("name", String(80), primary_key=True, comment="loop, or loop/zone"),
    Column("holder", String(80), nullable=False),
    Column("epoch", BigInteger, nullable=False, comment="grows with every change of holder"),
    Column("expires_at", Instant, nullable=False),
)

observation = Table(
    "observation",
    metadata,
    Column("zone_id", identifier(), ForeignKey("zone.id"), primary_key=True),
    Column("epoch", BigInteger, nullable=False, comment="of the reconcile loop that saw the zone whole"),
    Column("at", Instant, nullable=False),
)
