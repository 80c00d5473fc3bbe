"""Trying: an engine as it would be after a change, for as long as a plan takes, and then as it was again."""

from collections.abc import Iterator
from contextlib import contextmanager

from corral.scheduling.engine import Engine
from corral.scheduling.snapshot import Snapshot


@contextmanager
def tried(engine: Engine, now: Snapshot, other: Snapshot) -> Iterator[None]:
    """The engine, which knows `now`, as if it were `other`: what is the same object in both is not told."""
    _tell(engine, now, other)
    try:
        yield
    finally:
        _tell(engine, other, now)


def _tell(engine: Engine, before: Snapshot, after: Snapshot) -> None:
    """First nodes that come, then work, then nodes that go; time is told with every plan."""
    if before.queues is not after.queues:
        engine.set_queues(after.queues)
    gone_nodes: list[str] = []
    if before.nodes is not after.nodes:
        old = {node.name: node for node in before.nodes}
        for node in after.nodes:
            if old.pop(node.name, None) is not node:
                engine.set_node(node)
        gone_nodes = list(old)
    if before.workloads is not after.workloads:
        known = {workload.name: workload for workload in before.workloads}
        for workload in after.workloads:
            if known.pop(workload.name, None) is not workload:
                engine.set_workload(workload)
        for name in known:
            engine.drop_workload(name)
    for name in gone_nodes:
        engine.drop_node(name)
