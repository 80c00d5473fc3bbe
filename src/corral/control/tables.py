"""What the leader of a zone has seen."""

from sqlalchemy import BigInteger, Column, ForeignKey, Table

from corral.store.schema import Instant, identifier, metadata

observation = Table(
    "observation",
    metadata,
    Column("zone_id", identifier(), ForeignKey("zone.id"), primary_key=True),
    Column("epoch", BigInteger, nullable=False, comment="of the reconcile loop that saw the zone whole"),
    Column("at", Instant, nullable=False),
)
