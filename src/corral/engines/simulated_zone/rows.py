"""How the rows of a simulated zone are read and written, inside a transaction."""

import json
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal_column,
    not_,
    or_,
    select,
    update,
)

from corral.core.refusals import NotFound
from corral.engines.simulated_zone import inventory, world
from corral.engines.simulated_zone.tables import simulated_node, simulated_run, simulated_zone
from corral.engines.simulated_zone.world import NEVER, RunRow
from corral.store.database import Transaction
from corral.store.schema import any_of

# How long the name of a discarded run is kept, for a start of it that was on its way for that long.
TOMBSTONE_US = int(timedelta(days=7) / timedelta(microseconds=1))

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_r, _n = simulated_run.c, simulated_node.c
_COLUMNS = [_r[name] for name in RunRow._fields]
_OF_ZONE = _r.zone_id == bindparam("zone")
# Written out: an index of a part of the rows is used only if the statement names that part.
_KNOWN: ColumnElement[bool] = and_(_OF_ZONE, _r.state == literal_column("'known'"))
_DISCARDED: ColumnElement[bool] = _r.state == literal_column("'discarded'")
_AFTER: BindParameter[int] = bindparam("after")
_UNTIL: BindParameter[int] = bindparam("until")

_ZONE: Select[Any] = select(simulated_zone).where(simulated_zone.c.zone_id == bindparam("zone"))
_ALL_KNOWN = select(*_COLUMNS).where(_KNOWN)
# What has not ended by then is all that can still change.
_CHANGED = _ALL_KNOWN.where(
    _r.ends_at > _AFTER,
    or_(
        _r.starts_at > _AFTER,
        and_(_r.runs_at > _AFTER, _r.runs_at <= _UNTIL),
        and_(_r.leaves_at > _AFTER, _r.leaves_at <= _UNTIL),
        _r.ends_at <= _UNTIL,
    ),
)
_NEXT_CHANGE = select(
    func.min(
        case(
            (_r.starts_at > _AFTER, _r.starts_at),
            (and_(_r.runs_at > _AFTER, _r.runs_at < NEVER), _r.runs_at),
            (and_(_r.leaves_at > _AFTER, _r.leaves_at < NEVER), _r.leaves_at),
            else_=_r.ends_at,
        )
    )
).where(_KNOWN, _r.ends_at > _AFTER)
_CHOSEN = _ALL_KNOWN.where(any_of(_r.run, "runs"))
_ON_NODES = _ALL_KNOWN.where(any_of(_r.node, "nodes"), _r.ends_at > _AFTER)
_NAMES = select(_r.run).where(_OF_ZONE, any_of(_r.run, "runs"))
_EARLIER = (
    select(*_COLUMNS)
    .where(_OF_ZONE, _r.workload == bindparam("workload"), _r.attempt < bindparam("attempt"))
    .order_by(_r.attempt)
)
_KEPT = select(*_COLUMNS).where(_OF_ZONE, _r.run == bindparam("run"), not_(_DISCARDED))


@dataclass(frozen=True, slots=True)
class ZoneRow:
    zone_id: str
    epoch: str
    horizon: int
    created_at: int
    description: str
    description_revision: int
    inventory_revision: int


@dataclass(frozen=True, slots=True)
class NodeState:
    """Switches of a node, to make failures happen. Without `start_seconds` a start takes the usual time."""

    lost: bool = False
    start_seconds: int | None = None
    refusal: str | None = None


class UnknownZone(NotFound):
    """It was deleted, or never made."""


def topic(zone_id: str) -> str:
    return f"simulated/{zone_id}"


def microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


# The zone and its time


def read_zone(transaction: Transaction, zone_id: str) -> ZoneRow:
    row = transaction.first(_ZONE, {"zone": zone_id})
    if row is None:
        raise UnknownZone(
            f"There is no simulated zone {zone_id}.", "See which zones there are: corral zone list"
        )
    return ZoneRow(*row)


def time_of(transaction: Transaction, zone: ZoneRow) -> int:
    """What time it is in the zone: never behind what somebody was told."""
    return max(zone.horizon, microseconds(transaction.now))


def ahead_us(transaction: Transaction, zone: ZoneRow, due: int | None) -> int | None:
    """How long until an instant can be told; 0 if it can be now, None for one that never comes."""
    if due is None:
        return None
    return 0 if due <= zone.horizon else max(0, due - microseconds(transaction.now))


def is_due(transaction: Transaction, zone: ZoneRow) -> bool:
    """Whether something has happened since the horizon. It is told only after the horizon has moved."""
    return ahead_us(transaction, zone, next_change(transaction, zone.zone_id, zone.horizon)) == 0


def settle(transaction: Transaction, zone_id: str) -> None:
    """Moves the horizon to now: from here on, nobody changes what happened until now."""
    now = microseconds(transaction.now)
    column = simulated_zone.c
    transaction.run(
        update(simulated_zone).where(column.zone_id == zone_id, column.horizon < now).values(horizon=now)
    )


def step(transaction: Transaction, zone_id: str) -> tuple[ZoneRow, int]:
    """The instant of a write: after everything that was told. Writes of a zone come one after another."""
    zone = read_zone(transaction, zone_id)
    at = max(microseconds(transaction.now), zone.horizon + 1)
    transaction.run(update(simulated_zone).where(simulated_zone.c.zone_id == zone_id).values(horizon=at))
    transaction.hint(topic(zone_id))
    return zone, at


def next_change(transaction: Transaction, zone_id: str, after: int) -> int | None:
    due = transaction.scalar(_NEXT_CHANGE, {"zone": zone_id, "after": after})
    return None if due is None or due >= NEVER else int(due)


# Description and deletion, for whoever keeps the zones


def write_description(transaction: Transaction, zone_id: str, description: str) -> None:
    """Makes the rows of a zone, or changes its nodes; what runs on nodes that go is lost with them."""
    fleet = inventory.parse(description)
    if transaction.first(_ZONE, {"zone": zone_id}) is None:
        now = microseconds(transaction.now)
        transaction.run(
            insert(simulated_zone).values(
                zone_id=zone_id,
                epoch=secrets.token_hex(8),
                horizon=now,
                created_at=now,
                description=description,
                description_revision=1,
                inventory_revision=1,
            )
        )
        return
    zone, at = step(transaction, zone_id)
    if zone.description == description:
        return
    gone = inventory.parse(zone.description).names - fleet.names
    _lose(transaction, zone_id, gone, at)
    transaction.run(
        delete(simulated_node).where(_n.zone_id == zone_id, any_of(_n.name, "nodes")), {"nodes": _list(gone)}
    )
    transaction.run(
        update(simulated_zone)
        .where(simulated_zone.c.zone_id == zone_id)
        .values(
            description=description,
            description_revision=zone.description_revision + 1,
            inventory_revision=zone.inventory_revision + 1,
        )
    )


def delete_zone(transaction: Transaction, zone_id: str) -> None:
    """Everything of a zone; the zone itself is deleted by whoever keeps it."""
    for table in (simulated_run, simulated_node, simulated_zone):
        transaction.run(delete(table).where(table.c.zone_id == zone_id))
    transaction.hint(topic(zone_id))


# Nodes


def node_states(
    transaction: Transaction, zone_id: str, nodes: Collection[str] | None = None
) -> dict[str, NodeState]:
    """Those that were switched or have run something; the others are as described."""
    columns = (_n.name, _n.lost, _n.start_seconds, _n.refusal)
    statement, parameters = select(*columns).where(_n.zone_id == zone_id), {}
    if nodes is not None:
        statement, parameters = statement.where(any_of(_n.name, "nodes")), {"nodes": _list(nodes)}
    rows = transaction.rows(statement, parameters)
    return {name: NodeState(bool(lost), seconds, refusal) for name, lost, seconds, refusal in rows}


def switch_node(transaction: Transaction, zone_id: str, name: str, state: NodeState) -> None:
    zone, at = step(transaction, zone_id)
    before = node_states(transaction, zone_id, [name]).get(name)
    values = {"lost": state.lost, "start_seconds": state.start_seconds, "refusal": state.refusal}
    if before is None:
        transaction.run(insert(simulated_node).values(zone_id=zone_id, name=name, cpu_us=0, **values))
    else:
        transaction.run(update(simulated_node).where(_n.zone_id == zone_id, _n.name == name).values(**values))
    if state.lost != (before is not None and before.lost):
        transaction.run(
            update(simulated_zone)
            .where(simulated_zone.c.zone_id == zone_id)
            .values(inventory_revision=zone.inventory_revision + 1)
        )
    if state.lost:
        _lose(transaction, zone_id, [name], at)


def retired_cpu_us(transaction: Transaction, zone_id: str) -> dict[str, int]:
    rows = transaction.rows(select(_n.name, _n.cpu_us).where(_n.zone_id == zone_id))
    return {row.name: row.cpu_us for row in rows}


def _lose(transaction: Transaction, zone_id: str, nodes: Collection[str], at: int) -> None:
    rows = on_nodes(transaction, zone_id, nodes, at)
    write_ends(transaction, zone_id, [world.lost(row, at, f"node {row.node} was lost") for row in rows])


# Runs


def known(transaction: Transaction, zone_id: str) -> Iterator[RunRow]:
    """All that were not forgotten."""
    return map(RunRow._make, transaction.rows(_ALL_KNOWN, {"zone": zone_id}))


def changed(transaction: Transaction, zone_id: str, after: int, until: int) -> Iterator[RunRow]:
    found = transaction.rows(_CHANGED, {"zone": zone_id, "after": after, "until": until})
    return map(RunRow._make, found)


def chosen(transaction: Transaction, zone_id: str, runs: Iterable[str]) -> list[RunRow]:
    """Those of them that were not forgotten."""
    return [RunRow._make(row) for row in transaction.rows(_CHOSEN, {"zone": zone_id, "runs": _list(runs)})]


def on_nodes(transaction: Transaction, zone_id: str, nodes: Iterable[str], at: int) -> list[RunRow]:
    """What has not ended there."""
    found = transaction.rows(_ON_NODES, {"zone": zone_id, "nodes": _list(nodes), "after": at})
    return [RunRow._make(row) for row in found]


def kept(transaction: Transaction, zone_id: str, run: str) -> RunRow:
    """A run whose output is kept."""
    row = transaction.first(_KEPT, {"zone": zone_id, "run": run})
    if row is None:
        raise NotFound(f"There is no run {run} here.", "See what is running: corral ps")
    return RunRow._make(row)


def names_in_use(transaction: Transaction, zone_id: str, runs: Iterable[str]) -> set[str]:
    return {row.run for row in transaction.rows(_NAMES, {"zone": zone_id, "runs": _list(runs)})}


def carried_us(transaction: Transaction, zone_id: str, workload: str, attempt: int) -> dict[str, int]:
    """By replica, how much of the work its earlier attempts have done."""
    rows = transaction.rows(_EARLIER, {"zone": zone_id, "workload": workload, "attempt": attempt})
    return {row.replica: world.progress_us(RunRow._make(row)) for row in rows}


def add(transaction: Transaction, zone_id: str, rows: Sequence[RunRow]) -> None:
    if rows:
        own = {"zone_id": zone_id, "state": "known"}
        transaction.run(insert(simulated_run), [{**row._asdict(), **own} for row in rows])


def write_ends(transaction: Transaction, zone_id: str, rows: Sequence[RunRow]) -> None:
    """What a signal, a kill or a lost node changes of runs."""
    fields = ("runs_at", "leaves_at", "ends_at", "ending", "detail", "exit_code", "signal", "timed_out")
    statement = (
        update(simulated_run)
        .where(_r.zone_id == zone_id, _r.run == bindparam("one"))
        .values({name: bindparam(f"new_{name}") for name in fields})
    )
    if rows:
        transaction.run(
            statement,
            [{"one": row.run} | {f"new_{name}": getattr(row, name) for name in fields} for row in rows],
        )


def forget(transaction: Transaction, zone_id: str, runs: Iterable[str]) -> None:
    """Those whose ending was told; their nodes keep the CPU time that they used."""
    horizon = read_zone(transaction, zone_id).horizon
    ended = [row for row in chosen(transaction, zone_id, runs) if row.ends_at <= horizon]
    if not ended:
        return
    transaction.run(
        update(simulated_run).where(_r.zone_id == zone_id, any_of(_r.run, "runs")).values(state="forgotten"),
        {"runs": _list(row.run for row in ended)},
    )
    used: dict[str, int] = {}
    for row in ended:
        if row.runs_at < NEVER:
            used[row.node] = used.get(row.node, 0) + world.cpu_us(row, row.ends_at)
    _retire(transaction, zone_id, used)


def _retire(transaction: Transaction, zone_id: str, used: Mapping[str, int]) -> None:
    names = select(_n.name).where(_n.zone_id == zone_id, any_of(_n.name, "nodes"))
    there = {row.name for row in transaction.rows(names, {"nodes": _list(used)})}
    new = [
        {"zone_id": zone_id, "name": name, "lost": False, "cpu_us": cpu_us}
        for name, cpu_us in used.items()
        if name not in there
    ]
    if new:
        transaction.run(insert(simulated_node), new)
    more = [{"node": name, "more": cpu_us} for name, cpu_us in used.items() if name in there]
    if more:
        statement = update(simulated_node).where(_n.zone_id == zone_id, _n.name == bindparam("node"))
        transaction.run(statement.values(cpu_us=_n.cpu_us + bindparam("more")), more)


def discard(transaction: Transaction, zone_id: str, workloads: Iterable[str]) -> None:
    """What was told in full; names stay for a while, those of long ago go."""
    now = time_of(transaction, read_zone(transaction, zone_id))
    of_them = and_(_r.zone_id == zone_id, any_of(_r.workload, "workloads"))
    parameters = {"workloads": _list(workloads)}
    still = {
        row.workload
        for row in transaction.rows(select(_r.workload).where(of_them, _r.state == "known"), parameters)
    }
    gone = [row.workload for row in transaction.rows(select(_r.workload).where(of_them), parameters)]
    transaction.run(
        update(simulated_run)
        .where(of_them, _r.state == "forgotten")
        .values(state="discarded", discarded_at=now),
        {"workloads": _list(set(gone) - still)},
    )
    transaction.run(
        delete(simulated_run).where(_r.zone_id == zone_id, _DISCARDED, _r.discarded_at < now - TOMBSTONE_US)
    )


def _list(texts: Iterable[str]) -> str:
    return json.dumps(list(texts))
