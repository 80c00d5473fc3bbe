"""The planner of a replay: the scheduling engine, with the cluster and no work yet."""

from corral.replay.jobs import Cluster
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.state.config import Config
from corral.scheduling.validate.snapshot import Snapshot


def make_planner(cluster: Cluster, config: Config | None = None) -> PlannerState:
    return PlannerState(Snapshot(0, cluster.nodes, cluster.queues, (), cluster.pools), config)
