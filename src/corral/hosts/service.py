"""Hosts announce themselves, are listed, and are forgotten when they do not come back."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, select, update

from corral import __version__
from corral.api.callers import Caller
from corral.audit.record import Subject, record
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, NotFound
from corral.hosts import models
from corral.hosts.tables import NAME_LENGTH, URL_LENGTH, host
from corral.identity.lookups import root_of
from corral.platform.service import require_system_reader
from corral.store.database import AnyRow, Transaction
from corral.store.leadership import current_time

# Hosts announce themselves every 30 s.
SILENT = timedelta(seconds=90)


@dataclass(frozen=True, slots=True)
class Host:
    """`id` is also the identity of the zone that the host's machine is."""

    id: str
    name: str
    url: str


def announce(transaction: Transaction, host_id: str, name: str, url: str) -> None:
    """At every start: this host is there, and others reach it under this address."""
    now = current_time(transaction)
    row = transaction.first(select(host).where(host.c.id == host_id))
    values = {"url": url[:URL_LENGTH], "version": __version__[:40], "started_at": now, "seen_at": now}
    if row is not None:
        transaction.run(update(host).where(host.c.id == host_id).values(**values))
        return
    others = {taken for (taken,) in transaction.rows(select(host.c.name))}
    own = name[:NAME_LENGTH]
    if own in others:
        own = f"{name[: NAME_LENGTH - 9]}-{host_id[-8:]}"
    transaction.run(insert(host).values(id=host_id, name=own, **values))


def note_seen(transaction: Transaction, host_id: str) -> None:
    transaction.run(update(host).where(host.c.id == host_id).values(seen_at=current_time(transaction)))


def find_host(transaction: Transaction, host_id: str) -> Host | None:
    row = transaction.first(select(host).where(host.c.id == host_id))
    return None if row is None else Host(row.id, row.name, row.url)


def other_hosts(transaction: Transaction, host_id: str) -> tuple[Host, ...]:
    """All but this one; those that were heard of last come first."""
    rows = transaction.rows(select(host).where(host.c.id != host_id).order_by(host.c.seen_at.desc()))
    return tuple(Host(row.id, row.name, row.url) for row in rows)


def list_hosts(transaction: Transaction, caller: Caller) -> models.Hosts:
    require_system_reader(transaction, caller)
    now = current_time(transaction)
    rows = transaction.rows(select(host).order_by(host.c.name))
    return models.Hosts(items=[_shown(row, now) for row in rows])


def forget_host(transaction: Transaction, caller: Caller, host_id: str) -> None:
    """For a host that does not come back: nobody asks it for code any more. Its zone and work stay."""
    root = root_of(transaction)
    caller.require(Permission.ZONES_MANAGE, root.path, root.name)
    row = transaction.first(select(host).where(host.c.id == host_id))
    if row is None:
        raise NotFound(f"There is no host {host_id}.", "List the hosts: corral host list.")
    if _state(row, current_time(transaction)) == "up":
        raise Conflict(f"A Corral runs on {row.name}.", "Stop it first; a host that runs announces itself.")
    transaction.run(delete(host).where(host.c.id == host_id))
    record(transaction, caller, "host.delete", Subject("host", row.id, row.name, root.path))


def _state(row: AnyRow, now: datetime) -> models.HostState:
    return "up" if row.seen_at > now - SILENT else "silent"


def _shown(row: AnyRow, now: datetime) -> models.Host:
    return models.Host(
        id=row.id,
        name=row.name,
        url=row.url,
        version=row.version,
        state=_state(row, now),
        started_at=row.started_at,
        seen_at=row.seen_at,
    )
