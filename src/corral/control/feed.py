"""What the planner is told: everything at first, then what the zone's journal says has changed."""

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from sqlalchemy import select

from corral.control.lessons import Lessons, learn_from, read_lessons
from corral.core.devices import Device
from corral.core.holds import Claim
from corral.core.nodes import Node
from corral.queues.snapshot import queues
from corral.scheduling.line import Whole
from corral.scheduling.live import Changes, Load
from corral.scheduling.snapshot import Snapshot
from corral.store.database import AnyRow, Transaction
from corral.workloads import snapshot as work
from corral.workloads.arrivals import newest_arrivals
from corral.workloads.states import LEAVING, PRESENT, UNPLACED
from corral.workloads.tables import allocation, claim, workload
from corral.zones import journal
from corral.zones.journal import JournalKind
from corral.zones.snapshot import Ground, pools_and_nodes

# More than this is not followed step by step: everything is read anew.
MOST_CHANGES = 5000
# So many workloads that came last say what usually arrives.
MOST_ARRIVALS = 2000


@dataclass(slots=True)
class Known:
    """What the planner was told last, as far as whoever commits its plans must know it."""

    sequence: int
    revisions: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)  # with their queues
    out: set[str] = field(default_factory=set)  # of the line
    due: list[tuple[datetime, str]] = field(default_factory=list)
    lessons: Lessons = field(default_factory=Lessons)

    def device(self, node: str, device_id: str) -> Device:
        return next(one for one in self.nodes[node].devices if one.id == device_id)


@dataclass(frozen=True, slots=True)
class Fed:
    """The next thing to tell the planner, if anything, and what is known once it was told."""

    message: Load | Changes | None
    known: Known
    claims: tuple[Claim, ...]


def read_everything(transaction: Transaction, zone_id: str) -> Fed:
    sequence = journal.latest(transaction, zone_id)
    ground = _ground(transaction, zone_id)
    seen = work.workloads(transaction, zone_id)
    tree = queues(transaction, zone_id)
    lessons = read_lessons(transaction, zone_id, tree)
    known = Known(sequence, nodes={node.name: node for node in ground.nodes}, lessons=lessons)
    _note(transaction, zone_id, known, seen, None)
    now = int(transaction.now.timestamp())
    lessons.news(now)
    snapshot = Snapshot(
        now,
        ground.nodes,
        lessons.taught(tree),
        seen.values,
        ground.pools,
    )
    arrived = newest_arrivals(transaction, zone_id, MOST_ARRIVALS)
    whole = _whole(transaction, zone_id, ground)
    return Fed(Load(snapshot, arrived, whole, seen.out), known, _claims(transaction, zone_id))


def read_changes(transaction: Transaction, zone_id: str, known: Known) -> Fed:
    """What is different from what the planner knows; everything if a pool is, or too much."""
    entries = journal.read_after(transaction, zone_id, known.sequence, MOST_CHANGES)
    kinds = {entry.kind for entry in entries}
    if JournalKind.POOL in kinds or len(entries) == MOST_CHANGES:
        return read_everything(transaction, zone_id)
    touched = {entry.object_id for entry in entries if entry.kind is JournalKind.WORKLOAD}
    while known.due and known.due[0][0] <= transaction.now:
        touched.add(heapq.heappop(known.due)[1])
    seen = work.some(transaction, sorted(touched))
    ended = [name for name in seen.gone if name in known.waiting or known.lessons.runs(name)]
    learn_from(transaction, known.lessons, ended)
    ground = _ground(transaction, zone_id) if kinds & {JournalKind.QUEUE, JournalKind.NODE} else None
    nodes, gone_nodes = _node_changes(known, ground)
    _note(transaction, zone_id, known, seen, touched)
    if entries:
        known.sequence = entries[-1].sequence
    tree = whole = None
    if ground is not None:
        # What a guarantee of GPUs brings along depends on the nodes.
        tree, whole = queues(transaction, zone_id), _whole(transaction, zone_id, ground)
        known.lessons.follow(tree)
    lessons = known.lessons.news(int(transaction.now.timestamp()))
    if tree is not None:
        tree, lessons = known.lessons.taught(tree), ()
    changes = Changes(
        seen.values, seen.gone, nodes, gone_nodes, tree, lessons=lessons, whole=whole, out=seen.out
    )
    return Fed(changes if changes != Changes() else None, known, _claims(transaction, zone_id))


def _ground(transaction: Transaction, zone_id: str) -> Ground:
    return pools_and_nodes(transaction, zone_id, _held(transaction, zone_id))


def _whole(transaction: Transaction, zone_id: str, ground: Ground) -> Whole:
    """What would be different if all nodes and devices were in use."""
    if not ground.dormant:
        return Whole()
    return Whole(ground.dormant, queues(transaction, zone_id, whole=True))


def _node_changes(known: Known, ground: Ground | None) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    if ground is None:
        return (), ()
    changed = tuple(node for node in ground.nodes if known.nodes.get(node.name) != node)
    now = {node.name: node for node in ground.nodes}
    gone = tuple(sorted(known.nodes.keys() - now.keys()))
    known.nodes = now
    return changed, gone


def _note(
    transaction: Transaction,
    zone_id: str,
    known: Known,
    seen: work.Seen,
    touched: set[str] | None,
) -> None:
    """Revisions of what was told, and when something about a workload changes by time alone."""
    values = seen.values
    names = [value.name for value in (*values, *seen.out)] if touched is None else sorted(touched)
    for name in names:
        known.waiting.pop(name, None)
    known.waiting |= {value.name: value.queue for value in values if value.running_since is None}
    known.out = (known.out - set(names)) | {value.name for value in seen.out}
    known.lessons.note(names, values)
    for row in _rows(transaction, zone_id, names, everything=touched is None):
        known.revisions[row.id] = row.revision
        if row.state in UNPLACED and row.not_before is not None and row.not_before > transaction.now:
            heapq.heappush(known.due, (row.not_before, row.id))
        elif row.state in LEAVING and row.leaving_since is not None:
            grace = timedelta(seconds=row.spec["grace_seconds"] + work.OVERDUE_SECONDS + 1)
            heapq.heappush(known.due, (row.leaving_since + grace, row.id))


def _rows(transaction: Transaction, zone_id: str, names: list[str], *, everything: bool) -> Iterable[AnyRow]:
    c = workload.c
    columns = select(c.id, c.revision, c.state, c.not_before, c.leaving_since, c.spec)
    if everything:
        states = sorted({*UNPLACED, *PRESENT})
        yield from transaction.rows(columns.where(c.zone_id == zone_id, c.state.in_(states)))
        return
    for start in range(0, len(names), 500):
        yield from transaction.rows(columns.where(c.id.in_(names[start : start + 500])))


def _held(transaction: Transaction, zone_id: str) -> set[tuple[str, str | None]]:
    """Nodes and devices on which something is accounted for, whatever has become of them."""
    held: set[tuple[str, str | None]] = set()
    for node, devices in transaction.rows(
        select(allocation.c.node, allocation.c.devices).where(allocation.c.zone_id == zone_id)
    ):
        held.add((node, None))
        held.update((node, use["device"]) for use in devices)
    return held


def _claims(transaction: Transaction, zone_id: str) -> tuple[Claim, ...]:
    rows = transaction.rows(
        select(claim).where(claim.c.zone_id == zone_id).order_by(claim.c.workload_id, claim.c.replica)
    )
    return tuple(
        Claim(
            row.workload_id,
            work.replica_name(row.workload_id, row.replica),
            row.node,
            None if row.at is None else int(row.at.timestamp()),
        )
        for row in rows
    )
