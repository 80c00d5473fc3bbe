"""The planner of a replay: the scheduling engine, with the cluster and no work yet."""

from corral.replay.jobs import Cluster
from corral.scheduling.config import Config
from corral.scheduling.engine import Engine
from corral.scheduling.snapshot import Snapshot


def make_planner(cluster: Cluster, config: Config | None = None) -> Engine:
    return Engine(Snapshot(0, cluster.nodes, cluster.queues, (), cluster.pools), config)
