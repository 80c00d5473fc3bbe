"""Leases: at most one process runs a loop, and what an earlier holder still writes is refused.

A lease has an epoch that grows with every change of holder. Whoever writes under a lease checks its epoch in
the same transaction, so a holder that was cut off, slept or hung cannot write over its successor, whatever
the clocks say. Clocks only decide when a silent holder may be replaced: the database's own on PostgreSQL,
where holders sit on several machines, and this machine's on SQLite.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Insert, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from corral.control.tables import lease
from corral.store.database import Transaction

NAME_LENGTH = 80


class LeaseLost(Exception):
    """Another process may be running this loop; the turn must end without writing."""


@dataclass(frozen=True, slots=True)
class Lease:
    name: str
    holder: str
    epoch: int


def acquire(transaction: Transaction, name: str, holder: str, duration: timedelta) -> Lease | None:
    """Takes the lease if it is free, given back or expired; None while another holds it."""
    now = _now(transaction)
    transaction.run(_insert_if_missing(transaction, name, now))
    row = transaction.first(select(lease).where(lease.c.name == name))
    assert row is not None, "inserted above"
    if row.expires_at > now and row.holder != holder:
        return None
    # Even a holder that comes back gets a new epoch: what its earlier self left running is fenced off.
    taken = Lease(name, holder, row.epoch + 1)
    transaction.run(
        update(lease)
        .where(lease.c.name == name)
        .values(holder=holder, epoch=taken.epoch, expires_at=now + duration)
    )
    return taken


def renew(transaction: Transaction, held: Lease, duration: timedelta) -> None:
    """Extends the lease; one that ran out without a new holder is still ours and goes on."""
    changed = transaction.run(update(lease).where(*_is(held)).values(expires_at=_now(transaction) + duration))
    if not changed:
        raise LeaseLost(f"{held.name}: epoch {held.epoch} is over")


def release(transaction: Transaction, held: Lease) -> bool:
    """Gives the lease back, so that another process need not wait for it to expire; False if it was lost."""
    return transaction.run(update(lease).where(*_is(held)).values(expires_at=_now(transaction))) > 0


def end_all(transaction: Transaction) -> None:
    """Every lease may be taken at once: for a process that knows itself to be the only one."""
    transaction.run(update(lease).values(expires_at=_now(transaction)))


def check(transaction: Transaction, held: Lease) -> None:
    """To be called in every transaction that writes under the lease."""
    if transaction.first(select(lease.c.epoch).where(*_is(held))) is None:
        raise LeaseLost(f"{held.name}: epoch {held.epoch} is over")


def _is(held: Lease) -> tuple[Any, ...]:
    return (lease.c.name == held.name, lease.c.holder == held.holder, lease.c.epoch == held.epoch)


def _now(transaction: Transaction) -> datetime:
    if not transaction.is_postgresql:
        return transaction.now
    now: datetime = transaction.scalar(select(func.clock_timestamp()))
    return now


def _insert_if_missing(transaction: Transaction, name: str, now: datetime) -> Insert:
    values = {"name": name, "holder": "", "epoch": 0, "expires_at": now}
    if transaction.is_postgresql:
        return postgresql.insert(lease).values(values).on_conflict_do_nothing()
    return sqlite.insert(lease).values(values).on_conflict_do_nothing()
