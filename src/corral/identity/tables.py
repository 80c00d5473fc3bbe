"""Organisations, users, what ties them together, and the credentials they come with."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from corral.store.schema import Instant, identifier, json_value, metadata, ordered_string

NAME_LENGTH = 120
SECRET_HASH_LENGTH = 64

organisation = Table(
    "organisation",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("parent_id", identifier(), ForeignKey("organisation.id"), index=True),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("name_key", String(2 * NAME_LENGTH), nullable=False, comment="what siblings may not share"),
    Column("path", Text().with_variant(Text(collation="C"), "postgresql"), nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),
    UniqueConstraint("parent_id", "name_key"),
)

user = Table(
    "user_account",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("name", ordered_string(40), nullable=False, unique=True),
    Column("display_name", ordered_string(NAME_LENGTH), nullable=False),
    Column("mail", String(254)),
    Column("state", String(10), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("language", String(10)),
    Column("theme", String(10)),
    Column("created_at", Instant, nullable=False),
    Column("last_seen_at", Instant),
    Column("generation", Integer, nullable=False),
    Column("deleted_at", Instant, comment="kept for records that name the person"),
    CheckConstraint("priority BETWEEN 1 AND 5", name="priority"),
    CheckConstraint("state IN ('active', 'disabled', 'pending')", name="state"),
    Index("ix_user_account_display_name", "display_name", "id"),
    Index("ix_user_account_last_seen_at", "last_seen_at", "id"),
)

membership = Table(
    "membership",
    metadata,
    Column("user_id", identifier(), ForeignKey("user_account.id"), primary_key=True),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), primary_key=True, index=True),
    Column("created_at", Instant, nullable=False),
)

role = Table(
    "role",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("key", String(40), unique=True, comment="of a preset; custom roles have none"),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), nullable=False, index=True),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("name_key", String(2 * NAME_LENGTH), nullable=False),
    Column("description", String(400), nullable=False),
    Column("permissions", json_value(), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("generation", Integer, nullable=False),
    UniqueConstraint("organisation_id", "name_key"),
)

role_grant = Table(
    "role_grant",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False),
    Column("role_id", identifier(), ForeignKey("role.id"), nullable=False, index=True),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), nullable=False, index=True),
    Column("expires_at", Instant, index=True),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("user_id", "role_id", "organisation_id"),
)

password = Table(
    "password",
    metadata,
    Column("user_id", identifier(), ForeignKey("user_account.id"), primary_key=True),
    Column("hash", String(200), nullable=False),
    Column("must_change", Boolean, nullable=False),
    Column("changed_at", Instant, nullable=False),
)

external_login = Table(
    "external_login",
    metadata,
    Column("provider", String(40), primary_key=True),
    Column("subject", String(200), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False, index=True),
    Column("created_at", Instant, nullable=False),
)

session = Table(
    "session",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False, index=True),
    Column("secret_hash", String(SECRET_HASH_LENGTH), nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
    Column("last_seen_at", Instant, nullable=False, index=True),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("address", String(64), nullable=False),
    Column("user_agent", String(300), nullable=False),
    Column("provider", String(40), nullable=False),
)

token = Table(
    "token",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False, index=True),
    Column("name", String(NAME_LENGTH), nullable=False),
    Column("secret_hash", String(SECRET_HASH_LENGTH), nullable=False, unique=True),
    Column("scopes", json_value(), nullable=False, comment='permissions, or ["*"] for all the owner has'),
    Column("local", Boolean, nullable=False, comment="made at start for the command on this machine"),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, index=True),
    Column("last_used_at", Instant),
    Column("host_id", String(80), comment="of a local token: whose"),
)

ssh_key = Table(
    "ssh_key",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False, index=True),
    Column("title", String(NAME_LENGTH), nullable=False),
    Column("kind", String(40), nullable=False),
    Column("public_key", Text, nullable=False),
    Column("fingerprint", String(80), nullable=False),
    Column("created_at", Instant, nullable=False),
    # Of one person alone: that somebody else has the same key is not told to anyone.
    UniqueConstraint("user_id", "fingerprint"),
)

login_link = Table(
    "login_link",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("user_id", identifier(), ForeignKey("user_account.id"), nullable=False, index=True),
    Column("made_by", identifier(), ForeignKey("user_account.id")),
    Column("secret_hash", String(SECRET_HASH_LENGTH), nullable=False, unique=True),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
)

invitation = Table(
    "invitation",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("organisation_id", identifier(), ForeignKey("organisation.id"), nullable=False, index=True),
    Column("role_id", identifier(), ForeignKey("role.id"), nullable=False, index=True),
    Column("invited_by", identifier(), ForeignKey("user_account.id"), nullable=False),
    Column("mail", String(254)),
    Column("secret_hash", String(SECRET_HASH_LENGTH), unique=True, comment="of a link, for one person"),
    Column("code", String(20), unique=True, comment="of a join code, meant to be written on a blackboard"),
    Column("seats", Integer, nullable=False),
    Column("seats_taken", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False, index=True),
    Column("mailed_at", Instant),
    CheckConstraint("seats_taken <= seats", name="seats"),
    CheckConstraint("(secret_hash IS NULL) <> (code IS NULL)", name="link_or_code"),
)

login_throttle = Table(
    "login_throttle",
    metadata,
    Column("key", String(200), primary_key=True),
    Column("tries", Integer, nullable=False),
    Column("window_ends_at", Instant, nullable=False, index=True),
)
