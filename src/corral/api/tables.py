"""Answers kept so that a repeated create is the same create."""

from sqlalchemy import Column, Integer, String, Table, Text

from corral.store.schema import Instant, identifier, metadata

idempotent_answer = Table(
    "idempotent_answer",
    metadata,
    Column("principal_id", identifier(), primary_key=True),
    Column("route", String(120), primary_key=True),
    Column("key_hash", String(64), primary_key=True),
    Column("body_hash", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("answer", Text, nullable=False, comment="encrypted: it may hold a secret that is shown once"),
    Column("created_at", Instant, nullable=False, index=True),
)
