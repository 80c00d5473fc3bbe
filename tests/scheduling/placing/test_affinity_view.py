"""Affinity in time: what is leaving still keeps others waiting."""

from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.queues import Queue
from corral.core.workloads import (
    Affinity,
    AffinityKind,
    DeviceRequest,
    Replica,
    ReplicaGroup,
    ReplicaState,
    Request,
    Workload,
)
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import Snapshot

NOISY = {"kind": "noisy"}


def cluster(*states: ReplicaState) -> Snapshot:
    """A noisy replica on each node, in these states, and quiet work that must be apart from them."""
    nodes = tuple(
        Node(f"n{index}", 64_000, 64_000, devices=(Device("g0", 1000), Device("g1", 1000)))
        for index in range(len(states))
    )
    one = Request(devices=DeviceRequest(1))
    noisy = tuple(
        Workload(
            f"noisy{index}",
            "q",
            (
                ReplicaGroup(
                    "main", 1, one, (Replica(f"noisy{index}", state, f"n{index}", (DeviceUse("g0"),)),)
                ),
            ),
            labels=NOISY,
        )
        for index, state in enumerate(states)
    )
    apart = Request(devices=DeviceRequest(1), affinity=(Affinity(AffinityKind.APART, NOISY),))
    quiet = Workload("quiet", "q", (ReplicaGroup("main", 1, apart, (Replica("quiet"),)),))
    return Snapshot(1000, nodes, (Queue("q"),), (*noisy, quiet))


def test_work_waits_for_those_it_must_be_apart_from_although_a_device_is_free() -> None:
    plan = schedule(cluster(ReplicaState.RELEASING), actions=())
    assert not plan.placements
    plan = schedule(cluster(ReplicaState.RELEASING))
    assert not plan.placements
    assert [(each.workload, each.node) for each in plan.promises] == [("quiet", "n0")]


def test_a_node_where_nobody_has_to_leave_comes_first() -> None:
    snapshot = cluster(ReplicaState.RELEASING, ReplicaState.RELEASING)
    free = Snapshot(
        1000,
        (*snapshot.nodes, Node("n9", 64_000, 64_000, devices=tuple(Device(f"g{n}", 1000) for n in range(8)))),
        snapshot.queues,
        snapshot.workloads,
    )
    assert [each.node for each in schedule(free).placements] == ["n9"]


def test_an_overdue_release_keeps_others_away() -> None:
    plan = schedule(cluster(ReplicaState.STUCK))
    assert not plan.placements
    assert not plan.promises
    assert plan.unplaced[0].reason.failed_checks == {"neighbours": 1}
