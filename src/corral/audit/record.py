"""Writes the audit log, inside the transaction that does what it tells."""

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import insert

from corral.api.callers import Caller
from corral.audit.actions import ACTIONS
from corral.audit.tables import audit_entry, audit_posting
from corral.core.ids import Kind, new_id
from corral.core.refusals import Refusal
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
    if action not in ACTIONS:
        raise ValueError(f"{action!r} is not in corral.audit.actions: nobody could search for it")
    entry_id = new_id(Kind.AUDIT, transaction.now)
    path = ancestors(subject.organisation_path)
    via = f"{caller.via}:{caller.credential_id}" if caller.credential_id else caller.via
    transaction.run(
        _INSERT_ENTRY,
        {
            "id": entry_id,
            "at": transaction.now,
            "actor_id": caller.user_id,
            "actor_name": caller.name,
            "via": via,
            "action": action,
            "object_kind": subject.kind,
            "object_id": subject.id,
            "object_name": subject.name[:200],
            "organisation_id": path[-1],
            "organisation_path": subject.organisation_path,
            "result": result,
            "reason": reason,
            "before": masked(before),
            "after": masked(after),
            "address": caller.origin.address,
            "request_id": caller.origin.request_id,
        },
    )
    posting = {"result": result, "entry_id": entry_id, "actor_id": caller.user_id, "action": action}
    transaction.run(_INSERT_POSTING, [{"scope_id": scope, **posting} for scope in path])
    return entry_id


def record_refusal(
    transaction: Transaction, caller: Caller, action: str, subject: Subject, refusal: Refusal
) -> str:
    """Tells of what was not done, in a transaction of its own: the refused one leaves nothing behind."""
    return record(transaction, caller, action, subject, result="refused", reason=refusal.detail)


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
