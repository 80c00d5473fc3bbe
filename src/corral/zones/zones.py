"""Zones: list, add, remove; this machine as one; who drives each, and since when."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from corral.api.callers import Caller
from corral.api.problems import conflict
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.permissions import Permission
from corral.core.refusals import Conflict, FieldError, Invalid, NotFound
from corral.core.text import name_key
from corral.engines.simulated_zone import rows as simulation
from corral.events.record import publish
from corral.hosts.tables import host
from corral.identity.lookups import root_of
from corral.store.database import AnyRow, Transaction
from corral.store.leadership import current_time, leadership
from corral.store.schema import JsonObject
from corral.zones import models
from corral.zones.history import note_nodes
from corral.zones.rules import ZoneKind, ZoneState
from corral.zones.service import DEFAULT_POOL, add_pool
from corral.zones.tables import NAME_LENGTH, device, node, pool, zone

ZONE = "zone"
TOPIC = "zones"
# Names of the work in a zone that is not over.
WorkInZone = Callable[[Transaction, str], Sequence[str]]
MOST_SIMULATED = 20
RECONCILE = "reconcile"  # the loop whose leader drives a zone
# Hosts go by their ids, for two of them may be on one machine.
_IS_HOLDER = leadership.c.holder.like(host.c.id + "/%")


@dataclass(frozen=True, slots=True)
class Zone:
    """`mark` is on everything that the zone's engine makes outside, so that it knows its own.

    `identity` is that of what is behind it; `settings` say what a simulated zone consists of.
    """

    id: str
    name: str
    kind: ZoneKind
    mark: str
    identity: str | None = None
    settings: JsonObject | None = None


def all_zones(transaction: Transaction) -> tuple[Zone, ...]:
    """The oldest first."""
    return tuple(_zone(row) for row in transaction.rows(_ZONES.order_by(zone.c.id)))


def find_zone(transaction: Transaction, wanted: str) -> Zone | None:
    """By name or id."""
    row = transaction.first(_ZONES.where((zone.c.name == wanted) | (zone.c.id == wanted)))
    return None if row is None else _zone(row)


def list_zones(transaction: Transaction) -> models.Zones:
    pools = select(func.count()).where(pool.c.zone_id == zone.c.id).scalar_subquery()
    nodes = select(func.count()).where(node.c.zone_id == zone.c.id).scalar_subquery()
    leads = leadership.c.name == f"{RECONCILE}/" + zone.c.id
    rows = transaction.rows(
        select(
            zone,
            pools.label("pools_count"),
            nodes.label("nodes_count"),
            leadership.c.holder,
            leadership.c.since,
            leadership.c.expires_at,
            host.c.name.label("host_name"),
        )
        .join(leadership, leads, isouter=True)
        .join(host, _IS_HOLDER, isouter=True)
        .where(zone.c.removed_at.is_(None))
        .order_by(zone.c.id)
    )
    now = current_time(transaction)
    return models.Zones(items=[_shown(row, now) for row in rows])


def get_zone(transaction: Transaction, zone_id: str) -> models.Zone:
    for found in list_zones(transaction).items:
        if found.id == zone_id:
            return found
    raise _unknown(zone_id)


def add_zone(transaction: Transaction, caller: Caller, new: models.NewZone) -> models.Zone:
    """A simulated zone; the process that drives it opens it at once."""
    require_manager(transaction, caller)
    _refuse_taken(transaction, new.name)
    _refuse_too_many(transaction)
    settings: JsonObject = {"nodes": new.nodes}
    zone_id = _insert(transaction, new.name, ZoneKind.SIMULATED, None, settings)
    with _as_nodes():
        simulation.write_description(transaction, zone_id, new.nodes)
    record(transaction, caller, "zone.create", _subject(transaction, zone_id, new.name), after=settings)
    _changed(transaction, zone_id, 1)
    return get_zone(transaction, zone_id)


def remove_zone(transaction: Transaction, caller: Caller, zone_id: str, work_in: WorkInZone) -> None:
    """Takes a zone out of use. `work_in` gives the names of the work that is not over there.

    Its row stays for the history of its work, under another name; its nodes and devices go. This machine
    cannot be removed.
    """
    require_manager(transaction, caller)
    found = get_zone(transaction, zone_id)
    if found.kind is not ZoneKind.SIMULATED:
        raise Conflict(
            f"{found.name} is a machine, not a simulation.",
            "A machine leaves when its Corral no longer runs; cordon its node to give it no new work.",
        )
    if work := work_in(transaction, zone_id):
        names = ", ".join(work[:5]) + (", …" if len(work) > 5 else "")
        raise Conflict(f"Work is still in it: {names}.", "Stop it first, then remove the zone.")
    name = f"{found.name[: NAME_LENGTH - 40]} ({zone_id})"
    values = {"removed_at": transaction.now, "name": name, "generation": zone.c.generation + 1}
    transaction.run(update(zone).where(zone.c.id == zone_id).values(**values))
    nodes = [node_id for (node_id,) in transaction.rows(select(node.c.id).where(node.c.zone_id == zone_id))]
    of_zone = select(node.c.id).where(node.c.zone_id == zone_id)
    transaction.run(delete(device).where(device.c.node_id.in_(of_zone)))
    transaction.run(delete(node).where(node.c.zone_id == zone_id))
    note_nodes(transaction, nodes)
    simulation.delete_zone(transaction, zone_id)
    transaction.run(delete(leadership).where(leadership.c.name.like(f"%/{zone_id}")))
    subject = _subject(transaction, zone_id, found.name)
    record(transaction, caller, "zone.delete", subject, before={"nodes": found.nodes})
    _changed(transaction, zone_id, found.generation + 1)


def ensure_local_zone(transaction: Transaction, identity: str, machine: str) -> Zone:
    """This machine as a zone with one pool: found by its identity, or made.

    A zone of an older version has no identity: it is this machine's if a node of it has its name, or none.
    """
    row = transaction.first(_ZONES.where(zone.c.identity == identity))
    if row is not None:
        return _zone(row)
    local = _ZONES.where(zone.c.kind == ZoneKind.LOCAL, zone.c.identity.is_(None)).order_by(zone.c.id)
    for row in transaction.rows(local):
        hosts = {name for (name,) in transaction.rows(select(node.c.name).where(node.c.zone_id == row.id))}
        if not hosts or machine in hosts:
            transaction.run(update(zone).where(zone.c.id == row.id).values(identity=identity))
            return _found(transaction, row.id)
    used_names = {name for (name,) in transaction.rows(select(zone.c.name))}
    names = (ZoneKind.LOCAL.value, machine[:NAME_LENGTH], f"{machine[: NAME_LENGTH - 9]}-{identity[-8:]}")
    name = next(each for each in names if each not in used_names)
    zone_id = _insert(transaction, name, ZoneKind.LOCAL, identity, None)
    transaction.hint(TOPIC)
    return _found(transaction, zone_id)


def is_identity(transaction: Transaction, zone_id: str, identity: str | None) -> bool:
    """Whether the zone is still there, and still that of the machine or cluster with this identity."""
    row = transaction.first(_ZONES.where(zone.c.id == zone_id))
    return row is not None and row.identity == identity


def driver_of(transaction: Transaction, zone_id: str) -> str | None:
    """The host that drives the zone; None if nobody does."""
    row = transaction.first(
        select(leadership.c.holder, leadership.c.expires_at, host.c.name.label("host_name"))
        .join(host, _IS_HOLDER, isouter=True)
        .where(leadership.c.name == f"{RECONCILE}/{zone_id}")
    )
    if row is None or row.expires_at <= current_time(transaction):
        return None
    return _host_name(row)


def _host_name(row: AnyRow) -> str | None:
    """Of the holder of a leadership; without its name, as it calls itself in `host/process/random`."""
    if row.host_name is not None:
        return str(row.host_name)
    return str(row.holder).partition("/")[0] if row.holder else None


def _shown(row: AnyRow, now: datetime) -> models.Zone:
    led = row.expires_at is not None and row.expires_at > now
    state = ZoneState.UNREACHABLE
    if led:
        state = ZoneState.READY if row.seen_at is not None else ZoneState.STARTING
    return models.Zone(
        id=row.id,
        name=row.name,
        kind=row.kind,
        state=state,
        driven_by=_host_name(row) if led else None,
        last_driven_by=_host_name(row),
        since=row.since if led else _undriven_since(row),
        identity=row.identity,
        nodes=None if row.settings is None else row.settings["nodes"],
        simulated=row.kind == ZoneKind.SIMULATED,
        seen_at=row.seen_at,
        pools_count=row.pools_count,
        nodes_count=row.nodes_count,
        created_at=row.created_at,
        generation=row.generation,
    )


def _undriven_since(row: AnyRow) -> datetime:
    """Since when nobody drives the zone: the end of the last leadership, or ever."""
    ended: datetime | None = row.expires_at if row.holder else None
    return row.created_at if ended is None else ended


def _insert(transaction: Transaction, name: str, kind: ZoneKind, identity: str | None, settings: Any) -> str:
    zone_id = new_id(Kind.ZONE, transaction.now)
    transaction.run(
        insert(zone).values(
            id=zone_id,
            name=name,
            kind=kind,
            mark=zone_id,
            identity=zone_id if identity is None else identity,
            settings=settings,
            created_at=transaction.now,
            generation=1,
        )
    )
    add_pool(transaction, zone_id, DEFAULT_POOL)
    return zone_id


@contextmanager
def _as_nodes() -> Iterator[None]:
    """What is wrong with a description is said of the field that it came in."""
    try:
        yield
    except Invalid as refusal:
        errors = [
            FieldError(f"body.nodes{each.field.removeprefix('description')}", each.message, each.remedy)
            for each in refusal.errors
        ]
        raise Invalid(refusal.detail, refusal.remedy, errors=errors) from None


def require_manager(transaction: Transaction, caller: Caller) -> None:
    """Zones are of the whole installation: what is held further down is not enough to change them."""
    root = root_of(transaction)
    caller.require(Permission.ZONES_MANAGE, root.path, root.name)


def _refuse_taken(transaction: Transaction, name: str) -> None:
    for (used_name,) in transaction.rows(select(zone.c.name)):
        if name_key(used_name) == name_key(name):
            raise conflict("body.name", f"There is already a zone {used_name}.", "Choose another name.")


def _refuse_too_many(transaction: Transaction) -> None:
    """Each is driven by loops and a planner of its own."""
    simulated = _ZONES.where(zone.c.kind == ZoneKind.SIMULATED)
    if len(transaction.rows(simulated)) >= MOST_SIMULATED:
        raise conflict(
            "body.name", f"There are already {MOST_SIMULATED} simulated zones.", "Remove one first."
        )


def _subject(transaction: Transaction, zone_id: str, name: str) -> Subject:
    return Subject(ZONE, zone_id, name, root_of(transaction).path)


def _changed(transaction: Transaction, zone_id: str, generation: int) -> None:
    publish(transaction, ZONE, zone_id, generation)
    transaction.hint(TOPIC)


def _found(transaction: Transaction, zone_id: str) -> Zone:
    row = transaction.first(_ZONES.where(zone.c.id == zone_id))
    assert row is not None, "it was written in this transaction"
    return _zone(row)


def _zone(row: AnyRow) -> Zone:
    return Zone(row.id, row.name, ZoneKind(row.kind), row.mark, row.identity, row.settings)


def unknown_zone(field: str, wanted: str, zones: Iterable[Zone]) -> Invalid:
    names = ", ".join(sorted(one.name for one in zones))
    return Invalid.field(field, f"There is no zone {wanted}.", f"Use one of: {names}.")


def _unknown(zone_id: str) -> NotFound:
    return NotFound(f"There is no zone {zone_id}.", "List the zones: corral zone list.")


_ZONES = select(zone.c.id, zone.c.name, zone.c.kind, zone.c.mark, zone.c.identity, zone.c.settings).where(
    zone.c.removed_at.is_(None)
)
