"""Changes applied to a snapshot, so that a change is judged by scheduling it."""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

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
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import UNLIMITED
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Request, TopologyRequest, Workload
from corral.scheduling.state.run_times import end_after, learnt_in
from corral.scheduling.validate.snapshot import Snapshot


def changed(snapshot: Snapshot, workload: str, change: Change) -> Snapshot:
    """The snapshot with the change, which is meant to help `workload`."""
    match change:
        case RaiseBounds():
            raised = tuple(_raised(queue, change) for queue in snapshot.queues)
            return replace(snapshot, queues=raised)
        case AddNodes():
            like = next(node for node in snapshot.nodes if node.name == change.like)
            # Names after all others: what is there comes first among equals.
            new = tuple(replace(like, name=f"~{like.name}+{index}") for index in range(change.count))
            return replace(snapshot, nodes=snapshot.nodes + new)
        case Wait():
            return _later(snapshot, change.until)
        case _:
            return replace(
                snapshot,
                workloads=tuple(
                    changed_workload(each, change) if each.name == workload else each
                    for each in snapshot.workloads
                ),
            )


def changed_workload(
    workload: Workload,
    change: MakePreemptible | LowerMinimum | AskForLess | DropCondition | UsePool | LimitRuntime,
) -> Workload:
    match change:
        case UsePool():
            return replace(workload, pools=(change.pool,))
        case LimitRuntime():
            return replace(workload, runtime_limit_seconds=change.seconds)
        case MakePreemptible():
            return _with_groups(workload, lambda group: replace(group, preemptible=True))
        case LowerMinimum():
            return _with_groups(
                workload,
                lambda group: replace(group, minimum=change.minimum) if group.name == change.group else group,
            )
        case AskForLess():
            return _with_requests(workload, change.group, lambda request: _less(request, change))
        case DropCondition(what="topology"):
            bare = replace(workload, topology=_preferred_only(workload.topology))
            return _with_groups(bare, lambda group: replace(group, topology=_preferred_only(group.topology)))
        case DropCondition():
            return _with_requests(workload, change.group, lambda request: _freed(request, change))
        case _:
            assert_never(change)


def _less(request: Request, change: AskForLess) -> Request:
    devices = request.devices
    match change.what:
        case "cpu_milli":
            return replace(request, cpu_milli=change.amount)
        case "memory_mib":
            return replace(request, memory_mib=change.amount)
        case "devices":
            assert devices is not None
            return replace(request, devices=replace(devices, count=change.amount))
        case "slice_mib":
            assert devices is not None
            return replace(request, devices=replace(devices, memory_mib=change.amount))


def _freed(request: Request, change: DropCondition) -> Request:
    if change.what == "taint":
        return replace(request, tolerates=(*request.tolerates, change.name))
    if change.what == "label":
        kept = {key: value for key, value in request.node_labels.items() if key != change.name}
        return replace(request, node_labels=kept)
    if change.what == "models" and request.devices is not None:
        return replace(request, devices=replace(request.devices, models=()))
    return replace(request, nodes=())


def _preferred_only(wish: TopologyRequest | None) -> TopologyRequest | None:
    return None if wish is None else replace(wish, required=None)


def _with_groups(workload: Workload, turn: Callable[[ReplicaGroup], ReplicaGroup]) -> Workload:
    def turned(group: ReplicaGroup) -> ReplicaGroup:
        return turn(replace(group, groups=tuple(turned(below) for below in group.groups)))

    return replace(workload, groups=tuple(turned(group) for group in workload.groups))


def _with_requests(workload: Workload, name: str, turn: Callable[[Request], Request]) -> Workload:
    return _with_groups(
        workload,
        lambda group: replace(group, request=turn(group.request)) if group.name == name else group,
    )


def _raised(queue: Queue, change: RaiseBounds) -> Queue:
    quotas = {pool: dict(quota) for pool, quota in queue.quotas.items()}
    for each in change.raises:
        if each.queue == queue.name:
            quota = quotas.setdefault(change.pool, {})
            quota[each.resource] = _higher(quota.get(each.resource, Quota()), each, queue.policy)
    return replace(queue, quotas=quotas)


def _higher(quota: Quota, each: Raise, policy: QueuePolicy) -> Quota:
    """The guarantee of a fixed queue is its limit too, so both go up together."""
    fixed = policy is QueuePolicy.FIXED
    limit, guarantee = quota.limit, quota.guarantee
    if (each.bound is Bound.LIMIT or fixed) and limit != UNLIMITED:
        limit += each.by
    if (each.bound is Bound.GUARANTEE or fixed) and guarantee != UNLIMITED:
        guarantee += each.by
    return replace(quota, limit=limit, guarantee=guarantee)


def _later(snapshot: Snapshot, until: int) -> Snapshot:
    """Who is expected to have ended by then is gone, and so is what was leaving."""
    by_name = {queue.name: queue for queue in snapshot.queues}

    def stays(workload: Workload) -> bool:
        if not any(replica.state is ReplicaState.RUNNING for replica in _replicas(workload)):
            return True
        learnt = learnt_in(by_name[workload.queue], by_name)
        end = end_after(workload, learnt, workload.running_since, snapshot.now)
        return end is None or end.at > until

    kept = tuple(_without_leaving(each) for each in snapshot.workloads if stays(each))
    return replace(snapshot, now=until, workloads=kept)


def _without_leaving(workload: Workload) -> Workload:
    if not any(replica.state is ReplicaState.RELEASING for replica in _replicas(workload)):
        return workload
    return _with_groups(
        workload, lambda group: replace(group, replicas=tuple(map(_released, group.replicas)))
    )


def _released(replica: Replica) -> Replica:
    if replica.state is not ReplicaState.RELEASING:
        return replica
    return replace(replica, state=ReplicaState.PENDING, node=None, devices=())


def _replicas(workload: Workload) -> list[Replica]:
    def below(group: ReplicaGroup) -> list[Replica]:
        return [*group.replicas, *(replica for each in group.groups for replica in below(each))]

    return [replica for group in workload.groups for replica in below(group)]
