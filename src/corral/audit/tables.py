"""The audit log and the postings that make every search of it an index range."""

from sqlalchemy import Column, Index, String, Table, Text

from corral.store.schema import Instant, identifier, json_value, metadata, ordered_string

audit_entry = Table(
    "audit_entry",
    metadata,
    Column("id", identifier(), primary_key=True),
    Column("at", Instant, nullable=False),
    Column("actor_id", identifier(), nullable=False),
    Column("actor_name", String(120), nullable=False),
    Column("via", String(40), nullable=False, comment="session, token, local or system, and which"),
    Column("action", ordered_string(60), nullable=False),
    Column("object_kind", String(40), nullable=False),
    Column("object_id", identifier(), nullable=False),
    Column("object_name", String(200), nullable=False),
    Column("organisation_id", identifier(), nullable=False),
    Column("organisation_path", Text, nullable=False),
    Column("result", ordered_string(10), nullable=False),
    Column("reason", Text),
    Column("before", json_value()),
    Column("after", json_value()),
    Column("address", String(64), nullable=False),
    Column("request_id", String(64), nullable=False),
    Index("ix_audit_entry_object", "object_id", "id"),
)

# One row for each organisation from the root down to the entry's own, with the facts people search
# by. Whoever may read a scope searches its postings; result, who and what are then a prefix of one index
# and time is a range in it. A search for either result reads two ranges, so that neither a flood of
# refusals nor a million done things stands in the way of the other.
audit_posting = Table(
    "audit_posting",
    metadata,
    Column("scope_id", identifier(), primary_key=True),
    Column("result", ordered_string(10), primary_key=True),
    Column("entry_id", identifier(), primary_key=True),
    Column("actor_id", identifier(), nullable=False),
    Column("action", ordered_string(60), nullable=False),
    Index("ix_audit_posting_actor", "scope_id", "result", "actor_id", "entry_id"),
    Index("ix_audit_posting_action", "scope_id", "result", "action", "entry_id"),
    Index("ix_audit_posting_actor_action", "scope_id", "result", "actor_id", "action", "entry_id"),
    sqlite_with_rowid=False,
)
