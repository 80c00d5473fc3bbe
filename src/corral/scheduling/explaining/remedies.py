"""Remedies: which single changes would let a waiting workload run, each the smallest of its kind.

Candidates are read from the cycle; a change is a remedy only if the planner, with
the change applied, starts more of the workload. Nothing is guessed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from corral.core.changes import (
    AddNodes,
    AskForLess,
    Bound,
    Change,
    DropCondition,
    LimitRuntime,
    LowerMinimum,
    MakePreemptible,
    Raise,
    RaiseBounds,
    UsePool,
    Wait,
)
from corral.core.nodes import CONDITIONS
from corral.core.plans import Action, Plan
from corral.core.workloads import ReplicaGroup
from corral.scheduling.cycle.cycle import Cycle
from corral.scheduling.explaining.applied_changes import changed
from corral.scheduling.explaining.what_if import applied
from corral.scheduling.placing.node_checks import usable_devices
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.state.queue_tree import KINDS, QueueState, resource_of
from corral.scheduling.state.workload_state import Chunk, WorkState
from corral.scheduling.timing.reservations import ends_of, find_start
from corral.scheduling.validate.snapshot import Snapshot

# So many candidates of a kind are tried one by one; in longer series the first is found by halving.
_ONE_BY_ONE = 8


def candidates_of(snapshot: Snapshot, cycle: Cycle, work: WorkState) -> list[Sequence[Change]]:
    """What might help, by kind, as the cycle stands; of each kind the smaller change comes first."""
    chunk = work.chunk()
    return [] if chunk is None else list(_series(snapshot, cycle, chunk))


def remedies(
    planner: PlannerState,
    snapshot: Snapshot,
    workload: str,
    candidates: Iterable[Sequence[Change]],
    plan: Plan,
    actions: Iterable[Action],
) -> tuple[Change, ...]:
    """What would help, beginning with what its owner can do; empty if no single change does.

    The planner has the snapshot, `plan` is its plan, and no cycle is open.
    """
    chosen, started = tuple(actions), _started(plan, workload)

    def helps(change: Change) -> bool:
        other = changed(snapshot, workload, change)
        with applied(planner, snapshot, other):
            replanned = planner.plan(other.now, chosen, reasons=False)
        return _started(replanned, workload) > started

    firsts = (_first(series, helps) for series in candidates)
    return tuple(change for change in firsts if change is not None)


def _first(candidates: Sequence[Change], helps: Callable[[Change], bool]) -> Change | None:
    if len(candidates) <= _ONE_BY_ONE:
        return next((change for change in candidates if helps(change)), None)
    low, high = -1, len(candidates) - 1
    if not helps(candidates[high]):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if helps(candidates[middle]) else (middle, high)
    return candidates[high]


def _started(plan: Plan, workload: str) -> int:
    placed = sum(each.workload == workload for each in plan.placements)
    return placed + sum(each.workload == workload for each in plan.promises)


def _series(snapshot: Snapshot, cycle: Cycle, chunk: Chunk) -> Iterator[Sequence[Change]]:
    work = chunk.work
    group = _group_of(chunk)
    idle = not any(slot.base is not None for slot in work.slots)
    if not work.preemptible:
        yield [MakePreemptible()]
    if group is not None:
        yield from _conditions(cycle, group)
        yield from _quantities(cycle, group)
    yield _minimums(chunk)
    # Ending before the time for which a place is kept.
    times = sorted({guard.at - cycle.now for guard in cycle.guards if guard.at > cycle.now}, reverse=True)
    yield [LimitRuntime(seconds) for seconds in times]
    if idle:
        others = sorted(pool.name for pool in snapshot.pools if pool is not cycle.pool)
        yield [UsePool(name) for name in others][:_ONE_BY_ONE]
    yield _waiting(cycle, chunk)
    yield _bounds(cycle, chunk)
    yield _nodes(cycle, chunk)


def _group_of(chunk: Chunk) -> ReplicaGroup | None:
    """The group whose request could be changed: the only one in the chunk, and nothing of it runs yet."""
    names = {slot.group.name for slot in chunk.slots}
    if len(names) != 1:
        return None
    leaf = chunk.slots[0].group
    if any(slot.base is not None or slot.new is not None for slot in leaf.slots):
        return None
    return _find(chunk.work.workload.groups, leaf.name)


def _find(groups: Iterable[ReplicaGroup], name: str) -> ReplicaGroup | None:
    for group in groups:
        found = group if group.name == name else _find(group.groups, name)
        if found is not None:
            return found
    return None


def _conditions(cycle: Cycle, group: ReplicaGroup) -> Iterator[Sequence[Change]]:
    request = group.request
    taints = {taint for node in cycle.board.nodes for taint in node.node.taints}
    # Of a node that is cordoned or lost there is nothing to tolerate.
    unknown = sorted(taints - CONDITIONS - set(request.tolerates))
    yield [DropCondition(group.name, "taint", taint) for taint in unknown[:_ONE_BY_ONE]]
    yield [DropCondition(group.name, "label", label) for label in sorted(request.node_labels)[:_ONE_BY_ONE]]
    if request.nodes:
        yield [DropCondition(group.name, "nodes")]
    if request.devices is not None and request.devices.models:
        yield [DropCondition(group.name, "models")]
    yield [DropCondition(group.name, "topology")]


def _quantities(cycle: Cycle, group: ReplicaGroup) -> Iterator[Sequence[Change]]:
    request = group.request
    wanted = request.devices
    if wanted is not None:
        yield [AskForLess(group.name, "devices", count) for count in range(wanted.count - 1, 0, -1)]
        if wanted.memory_mib is not None:
            left = {
                device.memory_mib - device.mib + device.leaving_mib - device.promised_mib
                for node in cycle.board.nodes
                for device in node.devices
            }
            yield [AskForLess(group.name, "slice_mib", mib) for mib in _below(left, wanted.memory_mib)]
    cpu = {_left(cycle, index, 0) for index in range(len(cycle.board.nodes))}
    yield [AskForLess(group.name, "cpu_milli", milli) for milli in _below(cpu, request.cpu_milli)]
    memory = {_left(cycle, index, 1) for index in range(len(cycle.board.nodes))}
    yield [AskForLess(group.name, "memory_mib", mib) for mib in _below(memory, request.memory_mib)]


def _left(cycle: Cycle, index: int, kind: int) -> int:
    node = cycle.board.nodes[index]
    return node.size[kind] - node.used[kind] + node.leaving[kind] - node.promised[kind]


def _below(values: Iterable[int], bound: int) -> list[int]:
    return sorted((value for value in values if 0 < value < bound), reverse=True)


def _minimums(chunk: Chunk) -> Sequence[Change]:
    leaf = chunk.slots[0].group
    one_group = all(slot.group is leaf for slot in chunk.slots)
    if not one_group or chunk.work.satisfied:
        return ()
    least = max(1, leaf.active + leaf.present + 1)
    return [LowerMinimum(leaf.name, minimum) for minimum in range(leaf.minimum - 1, least - 1, -1)]


def _waiting(cycle: Cycle, chunk: Chunk) -> Sequence[Change]:
    ends = ends_of(cycle, chunk.work)
    guard = find_start(cycle, chunk, ends, [])
    if guard is None:
        return ()
    return [Wait(guard.at, max(name for end, name, _ in ends if end == guard.at))]


def _bounds(cycle: Cycle, chunk: Chunk) -> Sequence[Change]:
    raises = []
    for queue in chunk.work.queue.path:
        for kind in KINDS:
            over = queue.allocated[kind] + chunk.amount[kind] - queue.limit[kind]
            if chunk.amount[kind] and over > 0:
                raises.append(Raise(queue.name, _limit_name(queue), resource_of(kind), over))
            over = queue.pinned[kind] + chunk.pinned[kind] - queue.guarantee[kind]
            if chunk.pinned[kind] and over > 0 and not queue.fixed:
                raises.append(Raise(queue.name, Bound.GUARANTEE, resource_of(kind), over))
    return [RaiseBounds(cycle.pool.name, tuple(raises))] if raises else ()


def _limit_name(queue: QueueState) -> Bound:
    return Bound.GUARANTEE if queue.fixed else Bound.LIMIT


def _nodes(cycle: Cycle, chunk: Chunk) -> Sequence[Change]:
    """More of the smallest kind of node that could carry a replica."""
    request = chunk.slots[0].request
    suited = [
        node.node
        for node in cycle.board.nodes
        if request.allowed_on(node.node)
        and len(usable_devices(request, node.node.devices)) >= request.count
        and request.cpu_milli <= node.size[0]
        and request.memory_mib <= node.size[1]
    ]
    if not suited:
        return ()
    like = min(suited, key=lambda node: (len(node.devices), node.cpu_milli, node.name))
    return [AddNodes(like.name, count) for count in range(1, len(chunk.slots) + 1)]
