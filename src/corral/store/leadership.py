"""Leadership: at most one process runs a loop, and what an earlier leader still writes is refused.

A leadership has an epoch that grows with every change of holder. Whoever writes under it checks its epoch in
the same transaction, so a holder that was cut off, slept or hung cannot write over its successor, whatever
the clocks say. Clocks only decide when a silent holder may be replaced: the database's own on PostgreSQL,
where holders sit on several machines, and this machine's on SQLite.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, Column, Insert, String, Table, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from corral.store.database import Transaction
from corral.store.schema import Instant, metadata

NAME_LENGTH = 80

leadership = Table(
    "leadership",
    metadata,
    Column("name", String(NAME_LENGTH), primary_key=True, comment="loop, or loop/zone"),
    Column("holder", String(80), nullable=False, comment="host/process id/random"),
    Column("epoch", BigInteger, nullable=False, comment="grows with every change of holder"),
    Column("since", Instant, nullable=False, comment="when this holder took it"),
    Column("expires_at", Instant, nullable=False),
)


class LeadershipLost(Exception):
    """Another process may be running this loop; the turn must end without writing."""


@dataclass(frozen=True, slots=True)
class Leadership:
    name: str
    holder: str
    epoch: int


def acquire(transaction: Transaction, name: str, holder: str, duration: timedelta) -> Leadership | None:
    """Takes the leadership if it is free, given back or expired; None while another holds it."""
    now = current_time(transaction)
    transaction.run(_insert_if_missing(transaction, name, now))
    row = transaction.first(select(leadership).where(leadership.c.name == name))
    assert row is not None, "inserted above"
    if row.expires_at > now and row.holder != holder:
        return None
    # Even a holder that comes back gets a new epoch: what its earlier self left running is fenced off.
    taken = Leadership(name, holder, row.epoch + 1)
    since = row.since if row.holder == holder else now
    transaction.run(
        update(leadership)
        .where(leadership.c.name == name)
        .values(holder=holder, epoch=taken.epoch, since=since, expires_at=now + duration)
    )
    return taken


def renew(transaction: Transaction, held: Leadership, duration: timedelta) -> None:
    """Extends it; one that ran out without a new holder is still ours and goes on."""
    until = current_time(transaction) + duration
    changed = transaction.run(update(leadership).where(*_is(held)).values(expires_at=until))
    if not changed:
        raise LeadershipLost(f"{held.name}: epoch {held.epoch} is over")


def release(transaction: Transaction, held: Leadership) -> bool:
    """Gives it back, so that another process need not wait for it to expire; False if it was lost."""
    now = current_time(transaction)
    return transaction.run(update(leadership).where(*_is(held)).values(expires_at=now)) > 0


def end_all(transaction: Transaction) -> None:
    """Every leadership may be taken at once: for a process that knows itself to be the only one."""
    transaction.run(update(leadership).values(expires_at=current_time(transaction)))


def check(transaction: Transaction, held: Leadership) -> None:
    """To be called in every transaction that writes under the leadership."""
    if transaction.first(select(leadership.c.epoch).where(*_is(held))) is None:
        raise LeadershipLost(f"{held.name}: epoch {held.epoch} is over")


def current_time(transaction: Transaction) -> datetime:
    """By the clock that leaderships go by."""
    if not transaction.is_postgresql:
        return transaction.now
    now: datetime = transaction.scalar(select(func.clock_timestamp()))
    return now


def _is(held: Leadership) -> tuple[Any, ...]:
    return (
        leadership.c.name == held.name,
        leadership.c.holder == held.holder,
        leadership.c.epoch == held.epoch,
    )


def _insert_if_missing(transaction: Transaction, name: str, now: datetime) -> Insert:
    values = {"name": name, "holder": "", "epoch": 0, "since": now, "expires_at": now}
    if transaction.is_postgresql:
        return postgresql.insert(leadership).values(values).on_conflict_do_nothing()
    return sqlite.insert(leadership).values(values).on_conflict_do_nothing()
