"""What the planner is told: everything at first, then what the zone's journal says has changed."""

import heapq
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from sqlalchemy import select

from corral.control import restart_holds
from corral.control.lessons import Lessons, learn_from, read_lessons
from corral.core.devices import Device
from corral.core.holds import Claim, Hold
from corral.core.nodes import Node
from corral.core.queues import Queue
from corral.core.refusals import Unavailable
from corral.core.runs import ReplicaId
from corral.queues import snapshot as queues
from corral.scheduling.live.infeasible_work import FullCapacity
from corral.scheduling.live.live_planner import Changes, Load
from corral.scheduling.validate.snapshot import Snapshot
from corral.store.database import AnyRow, Transaction, concerns_everybody
from corral.store.piecewise import read_piecewise
from corral.store.schema import any_of
from corral.workloads import snapshot as work
from corral.workloads.arrivals import newest_arrivals
from corral.workloads.stand_ins import stand_ins
from corral.workloads.tables import allocation, claim
from corral.zones import journal
from corral.zones import snapshot as zones
from corral.zones.journal import JournalKind
from corral.zones.snapshot import Ground

log = structlog.get_logger(__name__)

# More than this is not followed step by step: everything is read anew.
MOST_CHANGES = 5000
# So many workloads that came last say what usually arrives.
MOST_ARRIVALS = 2000
_MOST_NAMES = 5


@dataclass(slots=True)
class PlannerView:
    """What the planner was told last, as far as whoever commits its plans must know it."""

    sequence: int
    revisions: dict[str, int] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)  # with their queues
    out: set[str] = field(default_factory=set)  # of the line
    left_out: set[str] = field(default_factory=set)  # of which it knows at most what they hold
    due: list[tuple[datetime, str]] = field(default_factory=list)
    lessons: Lessons = field(default_factory=Lessons)

    def device(self, node: str, device_id: str) -> Device:
        return next(one for one in self.nodes[node].devices if one.id == device_id)


@dataclass(frozen=True, slots=True)
class PlannerFeed:
    """The next thing to tell the planner, if anything, and what is known once it was told.

    `failed` are workloads that could not be read, with what was raised.
    """

    message: Load | Changes | None
    planner_view: PlannerView
    claims: tuple[Claim, ...]
    restart_holds: tuple[Hold, ...] = ()
    failed: Mapping[str, Exception] = field(default_factory=dict)


def read_everything(transaction: Transaction, zone_id: str, resting: Collection[str] = ()) -> PlannerFeed:
    """Of workloads that are `resting` the planner is told what they hold, and nothing else."""
    sequence = journal.latest(transaction, zone_id)
    ground, tree = _ground(transaction, zone_id), _tree(transaction, zone_id)
    ids = work.concerned(transaction, zone_id)
    records = work.some(transaction, zone_id, [one for one in ids if one not in resting])
    lessons = read_lessons(transaction, zone_id, tree)
    planner_view = PlannerView(sequence, nodes={node.name: node for node in ground.nodes}, lessons=lessons)
    left_out = {*(one for one in ids if one in resting), *records.failed}
    stand_in_work = stand_ins(transaction, left_out, planner_view.nodes)
    _note(planner_view, records, left_out, ids)
    now = int(transaction.now.timestamp())
    lessons.news(now)
    snapshot = Snapshot(
        now,
        ground.nodes,
        lessons.taught(tree),
        (*records.values, *stand_in_work.values()),
        ground.pools,
    )
    arrived = newest_arrivals(transaction, zone_id, MOST_ARRIVALS)
    whole = _whole(transaction, zone_id, ground)
    message = Load(snapshot, arrived, whole, records.out)
    return PlannerFeed(
        message,
        planner_view,
        _claims(transaction, zone_id, left_out),
        restart_holds.holds(transaction, zone_id),
        records.failed,
    )


def read_changes(
    transaction: Transaction, zone_id: str, planner_view: PlannerView, resting: Collection[str] = ()
) -> PlannerFeed:
    """What is different from what the planner knows; everything if a pool is, or too much."""
    entries = journal.read_after(transaction, zone_id, planner_view.sequence, MOST_CHANGES)
    kinds = {entry.kind for entry in entries}
    if JournalKind.POOL in kinds or len(entries) == MOST_CHANGES:
        return read_everything(transaction, zone_id, resting)
    touched = {entry.object_id for entry in entries if entry.kind is JournalKind.WORKLOAD}
    while planner_view.due and planner_view.due[0][0] <= transaction.now:
        touched.add(heapq.heappop(planner_view.due)[1])
    # Those that rest from now on, and those that have rested.
    touched |= planner_view.left_out ^ set(resting)
    left_out = touched & set(resting)
    records = work.some(transaction, zone_id, sorted(touched - left_out))
    left_out |= records.failed.keys()
    ended = [name for name in records.gone if name in planner_view.waiting or planner_view.lessons.runs(name)]
    learn_from(transaction, planner_view.lessons, ended)
    ground = _ground(transaction, zone_id) if kinds & {JournalKind.QUEUE, JournalKind.NODE} else None
    nodes, gone_nodes = _node_changes(planner_view, ground)
    stand_in_work = stand_ins(transaction, left_out, planner_view.nodes) if left_out else {}
    _note(planner_view, records, left_out, touched)
    if entries:
        planner_view.sequence = entries[-1].sequence
    tree = whole = None
    if ground is not None:
        # What a guarantee of GPUs brings along depends on the nodes.
        tree, whole = _tree(transaction, zone_id), _whole(transaction, zone_id, ground)
        planner_view.lessons.follow(tree)
    lessons = planner_view.lessons.news(int(transaction.now.timestamp()))
    if tree is not None:
        tree, lessons = planner_view.lessons.taught(tree), ()
    changes = Changes(
        (*records.values, *stand_in_work.values()),
        (*records.gone, *sorted(left_out - stand_in_work.keys())),
        nodes,
        gone_nodes,
        tree,
        lessons=lessons,
        whole=whole,
        out=records.out,
    )
    claims = _claims(transaction, zone_id, planner_view.left_out)
    return PlannerFeed(
        changes if changes != Changes() else None,
        planner_view,
        claims,
        restart_holds.holds(transaction, zone_id),
        records.failed,
    )


def _ground(transaction: Transaction, zone_id: str) -> Ground:
    with _naming(lambda: zones.damaged(transaction, zone_id)):
        return zones.pools_and_nodes(transaction, zone_id, _places_in_use(transaction, zone_id))


def _tree(transaction: Transaction, zone_id: str) -> tuple[Queue, ...]:
    with _naming(lambda: [*zones.damaged(transaction, zone_id), *queues.damaged(transaction)]):
        return queues.queues(transaction, zone_id)


@contextmanager
def _naming(damaged: Callable[[], list[str]]) -> Iterator[None]:
    """What everybody needs cannot be read: nothing is planned until it can, and it is said what it is."""
    try:
        yield
    except Exception as error:
        if concerns_everybody(error) or not (names := damaged()):
            raise
        raise Unavailable(
            f"Nothing is placed: the records of {', '.join(names[:_MOST_NAMES])} are damaged.",
            "Correct them, or restore the database from a backup.",
        ) from error


def _whole(transaction: Transaction, zone_id: str, ground: Ground) -> FullCapacity:
    """What would be different if all nodes and devices were in use."""
    if not ground.dormant:
        return FullCapacity()
    return FullCapacity(ground.dormant, queues.queues(transaction, zone_id, whole=True))


def _node_changes(
    planner_view: PlannerView, ground: Ground | None
) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    if ground is None:
        return (), ()
    changed = tuple(node for node in ground.nodes if planner_view.nodes.get(node.name) != node)
    now = {node.name: node for node in ground.nodes}
    gone = tuple(sorted(planner_view.nodes.keys() - now.keys()))
    planner_view.nodes = now
    return changed, gone


def _note(
    planner_view: PlannerView, records: work.WorkRecords, left_out: set[str], touched: Collection[str]
) -> None:
    """Revisions of what was told, and when something about a workload changes by time alone."""
    names = sorted(touched)
    for name in names:
        planner_view.waiting.pop(name, None)
    planner_view.waiting |= {
        value.name: value.queue for value in records.values if value.running_since is None
    }
    planner_view.out = (planner_view.out - set(names)) | {value.name for value in records.out}
    planner_view.left_out = (planner_view.left_out - set(names)) | left_out
    planner_view.lessons.note(names, records.values)
    planner_view.revisions |= records.revisions
    for name in left_out:
        planner_view.revisions.pop(name, None)  # whatever a plan says of it does not hold
    for name, at in records.again.items():
        heapq.heappush(planner_view.due, (at, name))


def _places_in_use(transaction: Transaction, zone_id: str) -> set[tuple[str, str | None]]:
    """Nodes and devices on which something is accounted for, whatever has become of them."""
    c = allocation.c
    places: set[tuple[str, str | None]] = set()
    workloads: set[str] = set()
    for node, workload_id in transaction.rows(select(c.node, c.workload_id).where(c.zone_id == zone_id)):
        places.add((node, None))
        workloads.add(workload_id)
    rows, _ = read_piecewise(
        sorted(workloads),
        lambda ids: transaction.rows(_DEVICES, {"ids": json.dumps(ids)}),
    )
    for node, devices in rows:
        # What makes no sense is a trouble of the workload, whose row is read by itself.
        uses = devices if isinstance(devices, list) else ()
        places.update((node, use["device"]) for use in uses if isinstance(use, dict) and "device" in use)
    return places


def _claims(transaction: Transaction, zone_id: str, left_out: Collection[str]) -> tuple[Claim, ...]:
    """A claim that cannot be read is none: the next plan writes them anew."""
    ids = transaction.rows(select(claim.c.workload_id).where(claim.c.zone_id == zone_id).distinct())
    found, failed = read_piecewise(
        sorted(one for (one,) in ids if one not in left_out),
        lambda some: [_claim(row) for row in transaction.rows(_CLAIMS, {"ids": json.dumps(some)})],
    )
    for name in failed:
        log.warning("a promise or reservation cannot be read; it is dropped", workload=name)
    return tuple(sorted(found, key=lambda one: ReplicaId.parse(one.replica)))


def _claim(row: AnyRow) -> Claim:
    at = None if row.at is None else int(row.at.timestamp())
    return Claim(row.workload_id, str(ReplicaId(row.workload_id, row.replica)), row.node, at)


_DEVICES = select(allocation.c.node, allocation.c.devices).where(any_of(allocation.c.workload_id, "ids"))
_CLAIMS = select(claim).where(any_of(claim.c.workload_id, "ids"))
