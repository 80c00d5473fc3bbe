"""The hosts that have joined."""

from sqlalchemy import Column, String, Table

from corral.store.schema import Instant, metadata, ordered_string

ID_LENGTH = 80
NAME_LENGTH = 120
URL_LENGTH = 400

host = Table(
    "host",
    metadata,
    Column("id", String(ID_LENGTH), primary_key=True, comment="the identity of its data directory"),
    Column("name", ordered_string(NAME_LENGTH), nullable=False, unique=True),
    Column("url", String(URL_LENGTH), nullable=False, comment="where other hosts reach it"),
    Column("version", String(40), nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False),
    comment="where a Corral of this database runs",
)
