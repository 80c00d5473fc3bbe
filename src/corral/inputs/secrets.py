"""Secrets of people: sealed with the key ring, given to their own work, never shown again.

A value is never changed in place: a new one gets a row of its own, and the old one is withdrawn. Withdrawn
values are given to nobody; they are kept, sealed, as long as there is work that was given them, so that its
output can be masked.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, delete, func, insert, select, update

from corral.api.callers import Caller
from corral.audit.record import record
from corral.core.ids import Kind, new_id
from corral.core.refusals import Conflict, FieldError, Invalid, NotFound, Unavailable
from corral.events.record import publish
from corral.identity.lookups import user_subject
from corral.inputs.models import Secret, Secrets
from corral.inputs.tables import secret, secret_use
from corral.store.database import AnyRow, Transaction
from corral.store.keyring import Keyring, KeyringError
from corral.workloads.rows import WorkloadRow
from corral.workloads.states import State
from corral.workloads.tables import workload

MASK = "********"
# Shorter ones are part of ordinary words and numbers: masking them would spoil the output.
LEAST_MASKED_LENGTH = 4
_LEAST_LINE_LENGTH = 8


@dataclass(frozen=True, slots=True)
class SecretBox:
    """What can be done with the keys in hand."""

    keyring: Keyring

    def set(self, transaction: Transaction, caller: Caller, name: str, value: str) -> Secret:
        """Gives a name a value; the one it had is withdrawn."""
        before = _live(transaction, caller.user_id, secret.c.name == name)
        if before is None:
            _check_room(transaction, caller)
        else:
            _withdraw(transaction, before.id)
        secret_id = new_id(Kind.SECRET, transaction.now)
        row = transaction.first(
            insert(secret)
            .values(
                id=secret_id,
                user_id=caller.user_id,
                name=name,
                sealed=self.keyring.encrypt(value, _purpose(secret_id)),
                key=self.keyring.newest,
                created_at=transaction.now if before is None else before.created_at,
                changed_at=transaction.now,
            )
            .returning(*secret.c)
        )
        assert row is not None
        _tell(transaction, caller, "secret.change" if before else "secret.create", name)
        return _shown(row)

    def values(self, transaction: Transaction, row: WorkloadRow, names: Mapping[str, str]) -> dict[str, str]:
        """The variables that a workload is given; which values those were is remembered."""
        given = {}
        for variable, name in names.items():
            found = _live(transaction, row.user_id, secret.c.name == name)
            if found is None:
                raise NotFound(
                    f"There is no secret {name} any more.", f"Create it: corral secret create {name}."
                )
            given[variable] = self._open(found)
            _remember(transaction, row.id, found.id)
        return given

    def masks(self, transaction: Transaction, workload_id: str) -> tuple[bytes, ...]:
        """What must not be seen in the output of a workload."""
        rows = transaction.rows(
            select(secret).join(secret_use).where(secret_use.c.workload_id == workload_id)
        )
        values: set[str] = set()
        for one in rows:
            whole = self._open(one)
            # A key file is printed line by line.
            lines = (line.strip() for line in whole.splitlines())
            values |= {line for line in lines if len(line) >= _LEAST_LINE_LENGTH}
            if len(whole) >= LEAST_MASKED_LENGTH:
                values.add(whole)
        return tuple(value.encode() for value in sorted(values))

    def renew(self, transaction: Transaction, most: int) -> int:
        """Seals with the newest key what an older one sealed."""
        rows = transaction.rows(select(secret).where(secret.c.key != self.keyring.newest).limit(most))
        for row in rows:
            sealed = self.keyring.encrypt(self._open(row), _purpose(row.id))
            values = {"sealed": sealed, "key": self.keyring.newest}
            transaction.run(update(secret).where(secret.c.id == row.id).values(**values))
        return len(rows)

    def _open(self, row: AnyRow) -> str:
        try:
            return self.keyring.decrypt(row.sealed, _purpose(row.id))
        except KeyringError as error:
            raise Unavailable(
                f"The secret {row.name} cannot be opened with the keys that are here.",
                "Restore the key file that belongs to this database, or set the secret again.",
            ) from error


def list_secrets(transaction: Transaction, caller: Caller) -> Secrets:
    rows = transaction.rows(
        select(secret)
        .where(secret.c.user_id == caller.user_id, secret.c.withdrawn_at.is_(None))
        .order_by(secret.c.name)
    )
    return Secrets(items=[_shown(row) for row in rows])


def delete_secret(transaction: Transaction, caller: Caller, name: str) -> None:
    row = _live(transaction, caller.user_id, secret.c.name == name)
    if row is None:
        raise NotFound(f"You have no secret {name}.", "List your secrets to find its name.")
    _withdraw(transaction, row.id)
    _tell(transaction, caller, "secret.delete", name)


def check(transaction: Transaction, owner_id: str, names: Mapping[str, str]) -> None:
    """Refuses new work that names a secret that its owner does not have."""
    errors = [
        FieldError(
            f"body.secrets.{variable}",
            f"You have no secret {name}.",
            f"Create it: corral secret create {name}.",
        )
        for variable, name in names.items()
        if _live(transaction, owner_id, secret.c.name == name) is None
    ]
    if errors:
        raise Invalid(errors[0].message, errors[0].remedy, errors=errors)


def forget_withdrawn(transaction: Transaction, most: int) -> int:
    """Removes withdrawn values that no work was given, or none that is still there."""
    gone = (
        select(secret_use.c.workload_id)
        .join(workload, workload.c.id == secret_use.c.workload_id)
        .where(workload.c.state == State.DELETED)
        .limit(most)
    )
    transaction.run(delete(secret_use).where(secret_use.c.workload_id.in_(gone)))
    unused = (
        select(secret.c.id)
        .where(
            secret.c.withdrawn_at.is_not(None),
            ~select(secret_use.c.secret_id).where(secret_use.c.secret_id == secret.c.id).exists(),
        )
        .limit(most)
    )
    return transaction.run(delete(secret).where(secret.c.id.in_(unused)))


def _live(transaction: Transaction, user_id: str, condition: ColumnElement[bool]) -> AnyRow | None:
    return transaction.first(
        select(secret).where(secret.c.user_id == user_id, secret.c.withdrawn_at.is_(None), condition)
    )


def _withdraw(transaction: Transaction, secret_id: str) -> None:
    transaction.run(update(secret).where(secret.c.id == secret_id).values(withdrawn_at=transaction.now))


def _check_room(transaction: Transaction, caller: Caller) -> None:
    owned = transaction.scalar(
        select(func.count()).where(secret.c.user_id == caller.user_id, secret.c.withdrawn_at.is_(None))
    )
    if owned >= (most := transaction.bounds.secrets):
        raise Conflict(f"You already have {most} secrets.", "Delete some first.")


def _remember(transaction: Transaction, workload_id: str, secret_id: str) -> None:
    key = (secret_use.c.workload_id == workload_id, secret_use.c.secret_id == secret_id)
    if transaction.first(select(secret_use).where(*key)) is None:
        transaction.run(insert(secret_use).values(workload_id=workload_id, secret_id=secret_id))


def _tell(transaction: Transaction, caller: Caller, action: str, name: str) -> None:
    subject = user_subject(transaction, caller.user_id, caller.name)
    record(transaction, caller, action, subject, after={"name": name})
    publish(transaction, "secret", caller.user_id, 1, user_id=caller.user_id)


def _purpose(secret_id: str) -> str:
    # A value that is moved to another row does not open there.
    return f"secret:{secret_id}"


def _shown(row: AnyRow) -> Secret:
    return Secret(name=row.name, created_at=row.created_at, changed_at=row.changed_at)
