"""A small world around the scheduler: what a plan does becomes the next snapshot, a second later."""

from dataclasses import replace

from corral.core.devices import DeviceUse
from corral.core.holds import Claim
from corral.core.plans import Plan
from corral.core.workloads import Replica, ReplicaGroup, ReplicaState, Workload
from corral.scheduling.validate.snapshot import Snapshot

Spots = dict[tuple[str, str], Replica]


def settle(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """What starts runs, what is evicted is pending again, what was released is gone; a promise is a claim."""
    started = {(each.workload, each.replica): each for each in plan.placements}
    evicted = {(each.workload, each.replica) for each in plan.evictions}

    def next_replica(workload: Workload, replica: Replica) -> Replica:
        key = workload.name, replica.name
        if key in started:
            placement = started[key]
            return replace(
                replica, state=ReplicaState.RUNNING, node=placement.node, devices=placement.devices
            )
        if key in evicted or replica.state is ReplicaState.RELEASING:
            return replace(replica, state=ReplicaState.PENDING, node=None, devices=())
        return replica

    def next_group(workload: Workload, group: ReplicaGroup) -> ReplicaGroup:
        return replace(
            group,
            replicas=tuple(next_replica(workload, replica) for replica in group.replicas),
            groups=tuple(next_group(workload, below) for below in group.groups),
        )

    starting = {each.workload for each in plan.placements}
    workloads = tuple(
        replace(
            each,
            groups=tuple(next_group(each, group) for group in each.groups),
            running_since=_since(each, starting, snapshot.now),
        )
        for each in snapshot.workloads
    )
    claims = [Claim(each.workload, each.replica, each.node) for each in plan.promises]
    claims += [Claim(each.workload, each.replica, each.node, each.at) for each in plan.reservations]
    return replace(snapshot, workloads=workloads, claims=tuple(claims))


def _since(workload: Workload, starting: set[str], now: int) -> int | None:
    """Work whose run time is known has a beginning."""
    known = workload.runtime_limit_seconds or workload.runtime_estimate_seconds
    runs = any(replica.state is ReplicaState.RUNNING for replica in replicas_of(workload))
    return now if known and workload.name in starting and not runs else workload.running_since


def replicas_of(workload: Workload) -> list[Replica]:
    return [replica for group in workload.groups for replica in _below(group)]


def _below(group: ReplicaGroup) -> list[Replica]:
    return [*group.replicas, *(replica for below in group.groups for replica in _below(below))]


def running(snapshot: Snapshot) -> dict[str, list[str]]:
    """The nodes on which each workload's replicas run, in the replicas' order."""
    return {
        workload.name: [
            replica.node or ""
            for replica in replicas_of(workload)
            if replica.state in (ReplicaState.RUNNING, ReplicaState.STUCK)
        ]
        for workload in snapshot.workloads
    }


def held_devices(snapshot: Snapshot) -> dict[str, list[str]]:
    """The devices that each workload's replicas hold, with the MiB or the MIG instance where it is a part."""
    return {
        workload.name: [
            _said(use)
            for replica in replicas_of(workload)
            if replica.state in (ReplicaState.RUNNING, ReplicaState.STUCK)
            for use in replica.devices
        ]
        for workload in snapshot.workloads
    }


def _said(use: DeviceUse) -> str:
    if use.profile is not None:
        return f"{use.device} {use.profile}@{use.start}"
    return use.device if use.memory_mib is None else f"{use.device} {use.memory_mib}"
