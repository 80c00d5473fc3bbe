"""Leases: which process runs a loop, and the epoch that fences off the one before."""

from sqlalchemy import BigInteger, Column, String, Table

from corral.store.schema import Instant, metadata

lease = Table(
    "lease",
    metadata,
    Column("name", String(80), primary_key=True, comment="loop, or loop/zone"),
    Column("holder", String(80), nullable=False),
    Column("epoch", BigInteger, nullable=False, comment="grows with every change of holder"),
    Column("expires_at", Instant, nullable=False),
)
