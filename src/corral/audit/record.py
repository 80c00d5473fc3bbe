"""Writes the audit log, in the transaction that makes the change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import insert

from corral.api.callers import Caller
from corral.audit.actions import ACTIONS
from corral.audit.tables import audit_entry, audit_posting
from corral.core.ids import Kind, new_id
from corral.core.scopes import ancestors
from corral.store.database import Transaction
from corral.store.schema import JsonObject

MASK = "********"
_SECRET_WORDS = ("password", "secret", "token_value", "private_key")

_INSERT_ENTRY = insert(audit_entry)
_INSERT_POSTING = insert(audit_posting)

Result = Literal["done", "refused"]


@dataclass(frozen=True, slots=True)
class Subject:
    """What an entry is about, and where in the organisation tree it belongs."""

    kind: str
    id: str
    name: str
    organisation_path: str


def record(
    transaction: Transaction,
    caller: Caller,
    action: str,
    subject: Subject,
    *,
    before: JsonObject | None = None,
    after: JsonObject | None = None,
    result: Result = "done",
    reason: str | None = None,
) -> str:
    """Appends one entry and returns its id. Values under names that speak of secrets are masked."""
    entry = _entry(transaction, caller, action, subject, before, after, result, reason)
    transaction.run(_INSERT_ENTRY, entry)
    transaction.run(_INSERT_POSTING, _postings(entry))
    return str(entry["id"])


def record_all(
    transaction: Transaction,
    caller: Caller,
    action: str,
    subjects: Sequence[tuple[Subject, JsonObject | None, JsonObject]],
) -> None:
    """Appends one entry per subject with what it was and became: thousands at once, in two statements."""
    entries = [
        _entry(transaction, caller, action, subject, before, after, "done", None)
        for subject, before, after in subjects
    ]
    if entries:
        transaction.run(_INSERT_ENTRY, entries)
        transaction.run(_INSERT_POSTING, [posting for entry in entries for posting in _postings(entry)])


def _entry(
    transaction: Transaction,
    caller: Caller,
    action: str,
    subject: Subject,
    before: JsonObject | None,
    after: JsonObject | None,
    result: Result,
    reason: str | None,
) -> JsonObject:
    if action not in ACTIONS:
        raise ValueError(f"{action!r} is not in corral.audit.actions: nobody could search for it")
    return {
        "id": new_id(Kind.AUDIT, transaction.now),
        "at": transaction.now,
        "actor_id": caller.user_id,
        "actor_name": caller.name,
        "via": f"{caller.via}:{caller.credential_id}" if caller.credential_id else caller.via,
        "action": action,
        "object_kind": subject.kind,
        "object_id": subject.id,
        "object_name": subject.name[:200],
        "organisation_id": ancestors(subject.organisation_path)[-1],
        "organisation_path": subject.organisation_path,
        "result": result,
        "reason": reason,
        "before": masked(before),
        "after": masked(after),
        "address": caller.origin.address,
        "request_id": caller.origin.request_id,
    }


def _postings(entry: JsonObject) -> list[JsonObject]:
    shared = {"entry_id": entry["id"], **{name: entry[name] for name in ("result", "actor_id", "action")}}
    return [{"scope_id": scope, **shared} for scope in ancestors(entry["organisation_path"])]


def masked(value: Any) -> Any:
    """The value with every secret in it replaced."""
    if isinstance(value, dict):
        return {
            key: MASK
            if any(word in key.lower() for word in _SECRET_WORDS) and item is not None
            else masked(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item) for item in value]
    return value
