"""Organisations, callers and entries for tests of the audit log."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from corral.api.callers import Authority, Caller, Origin
from corral.audit.record import Result, Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.scopes import ancestors, child_path
from corral.store.database import Transaction

MORNING = datetime(2026, 11, 15, 8, 0, tzinfo=UTC)


def create_id(kind: Kind) -> str:
    return new_id(kind, MORNING)


def create_path(parent: str = "/") -> str:
    """A new organisation: the root, or one below `parent`."""
    return child_path(parent, create_id(Kind.ORGANISATION))


def last_id(path: str) -> str:
    return ancestors(path)[-1]


def create_caller(
    *readable: str, user_id: str | None = None, permission: Permission = Permission.AUDIT_READ
) -> Caller:
    """Someone who may read the audit log of these paths."""
    return Caller(
        user_id=user_id or create_id(Kind.USER),
        name="mei",
        via="session",
        credential_id=create_id(Kind.SESSION),
        origin=Origin("192.0.2.17", "5f0c2b7e9d1a4c66"),
        authorities=tuple(Authority(path, frozenset({permission})) for path in readable),
    )


@dataclass(frozen=True)
class Happening:
    """What an entry will say, and afterwards its id."""

    path: str
    actor_id: str = field(default_factory=lambda: create_id(Kind.USER))
    action: str = "user.change"
    object_id: str = field(default_factory=lambda: create_id(Kind.USER))
    result: Result = "done"
    minutes: float = 0

    @property
    def at(self) -> datetime:
        return MORNING + timedelta(minutes=self.minutes)


def record_all(transaction: Transaction, happenings: list[Happening]) -> list[str]:
    """Records each at its own time and returns the ids."""
    return [
        record(
            Transaction(transaction.connection, one.at),
            create_caller(user_id=one.actor_id),
            one.action,
            Subject("user", one.object_id, "lin", one.path),
            result=one.result,
        )
        for one in happenings
    ]


class Tree:
    """Where organisations are today."""

    def __init__(self, *paths: str) -> None:
        self.paths = {last_id(path): path for path in paths}

    def find_path(self, _transaction: Transaction, organisation_id: str) -> str | None:
        return self.paths.get(organisation_id)
