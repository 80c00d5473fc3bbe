"""Settings that administrators change while Corral runs."""

from sqlalchemy import Column, Integer, String, Table

from corral.store.schema import Instant, json_value, metadata

setting = Table(
    "setting",
    metadata,
    Column("key", String(40), primary_key=True),
    Column("value", json_value(), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("updated_at", Instant, nullable=False),
)
