"""The journal of changes that the event stream reads."""

from sqlalchemy import BigInteger, Column, Integer, String, Table, Text

from corral.store.schema import Instant, identifier, metadata

event = Table(
    "event",
    metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True, autoincrement=True),
    Column("at", Instant, nullable=False, index=True),
    Column("kind", String(40), nullable=False),
    Column("object_id", identifier(), nullable=False),
    Column("generation", Integer, nullable=False),
    Column("scope", Text, comment="path of the organisation it belongs to; null: only for `user_id`"),
    Column("user_id", identifier(), comment="the person it is about, who always sees it"),
    sqlite_autoincrement=True,
)
