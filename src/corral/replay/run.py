"""One replay from the outside: a policy, a cluster, jobs; a summary and the recording come back."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from corral.core.nodes import Node
from corral.replay.jobs import Cluster, Job
from corral.replay.loop import Progress, Replay
from corral.replay.planner import make_planner
from corral.replay.policy import Policy
from corral.replay.record import Recording
from corral.replay.settings import Settings
from corral.replay.summary import Summary, summarise


@dataclass(frozen=True, slots=True)
class Replayed:
    policy: Policy
    cluster: Cluster
    recording: Recording
    summary: Summary


def replay(
    policy: Policy,
    nodes: Sequence[Node],
    guarantees: Mapping[str, int],
    jobs: Sequence[Job],
    settings: Settings,
    progress: Progress | None = None,
) -> Replayed:
    """Replays `jobs` under `policy`. Queues that no guarantee names get none: they live on what is idle."""
    named = dict.fromkeys(sorted({job.queue for job in jobs}), 0) | dict(guarantees)
    cluster = policy.cluster(tuple(nodes), named)
    loop = Replay(cluster, jobs, make_planner(cluster), replace(settings, levels=policy.levels))
    recording = asyncio.run(loop.run(progress))
    return Replayed(policy, cluster, recording, summarise(policy.name, cluster, recording))
