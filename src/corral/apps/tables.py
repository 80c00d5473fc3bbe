"""Tickets: what leads a person from the console into an app, once."""

from sqlalchemy import Column, Integer, String, Table

from corral.store.schema import Instant, identifier, metadata

app_ticket = Table(
    "app_ticket",
    metadata,
    Column("secret_hash", String(64), primary_key=True),
    Column("workload_id", identifier(), nullable=False),
    Column("port", Integer, comment="none: what the workload opens by default"),
    Column("user_id", identifier(), nullable=False, index=True),
    Column("credential_id", identifier(), nullable=False, comment="session or token that it was made with"),
    Column("expires_at", Instant, nullable=False, index=True),
    comment="good once, for a minute",
)
