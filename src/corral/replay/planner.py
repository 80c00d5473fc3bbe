"""What the loop asks for plans: a planner that keeps the cluster between cycles and takes changes."""

from typing import Protocol

from corral.core.holds import Claim
from corral.core.nodes import Node
from corral.core.plans import Plan
from corral.core.workloads import Workload
from corral.replay.jobs import Cluster
from corral.scheduling.config import Config
from corral.scheduling.engine import schedule
from corral.scheduling.snapshot import Snapshot


class Planner(Protocol):
    def set_node(self, node: Node) -> None: ...
    def drop_node(self, name: str) -> None: ...
    def set_workload(self, workload: Workload) -> None: ...
    def drop_workload(self, name: str) -> None: ...
    def plan(self, now: int, claims: tuple[Claim, ...]) -> Plan: ...


class FreshPlanner:
    """Makes a new snapshot for every plan."""

    def __init__(self, cluster: Cluster, config: Config) -> None:
        self._cluster = cluster
        self._config = config
        self._nodes = {node.name: node for node in cluster.nodes}
        self._workloads: dict[str, Workload] = {}

    def set_node(self, node: Node) -> None:
        self._nodes[node.name] = node

    def drop_node(self, name: str) -> None:
        del self._nodes[name]

    def set_workload(self, workload: Workload) -> None:
        self._workloads[workload.name] = workload

    def drop_workload(self, name: str) -> None:
        del self._workloads[name]

    def plan(self, now: int, claims: tuple[Claim, ...]) -> Plan:
        snapshot = Snapshot(
            now=now,
            nodes=tuple(self._nodes.values()),
            queues=self._cluster.queues,
            workloads=tuple(self._workloads.values()),
            pools=self._cluster.pools,
            claims=claims,
        )
        return schedule(snapshot, self._config)


def make_planner(cluster: Cluster, config: Config | None = None) -> Planner:
    return FreshPlanner(cluster, config or Config())
