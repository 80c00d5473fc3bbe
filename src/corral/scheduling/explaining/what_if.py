"""What if: the planner with a change applied, for the time of one plan, then as it was."""

from collections.abc import Iterator
from contextlib import contextmanager

from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.validate.snapshot import Snapshot


@contextmanager
def applied(planner: PlannerState, now: Snapshot, other: Snapshot) -> Iterator[None]:
    """The planner, which has `now`, as if it were `other`; objects that both share are left alone."""
    _apply(planner, now, other)
    try:
        yield
    finally:
        _apply(planner, other, now)


def _apply(planner: PlannerState, before: Snapshot, after: Snapshot) -> None:
    """First nodes that come, then work, then nodes that go; every plan names its time."""
    if before.queues is not after.queues:
        planner.set_queues(after.queues)
    gone_nodes: list[str] = []
    if before.nodes is not after.nodes:
        old = {node.name: node for node in before.nodes}
        for node in after.nodes:
            if old.pop(node.name, None) is not node:
                planner.set_node(node)
        gone_nodes = list(old)
    if before.workloads is not after.workloads:
        by_name = {workload.name: workload for workload in before.workloads}
        for workload in after.workloads:
            if by_name.pop(workload.name, None) is not workload:
                planner.set_workload(workload)
        for name in by_name:
            planner.drop_workload(name)
    for name in gone_nodes:
        planner.drop_node(name)
