"""Policies in words: how the queues of a replayed cluster share, and how its pool places."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from corral.core.nodes import Arrangement, Node, Pool
from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.refusals import Invalid
from corral.core.resources import WHOLE_DEVICE_MILLI, Resource
from corral.replay.attained import NO_LEVELS, Levels, geometric_levels
from corral.replay.jobs import Cluster

WORDS = {
    "elastic": "queues lend what they do not use and get it back on demand",
    "fixed": "every queue keeps its guarantee to itself",
    "packing": "fill a node before the next one",
    "spreading": "take the emptiest node",
    "backfill": "the first workload that does not fit gets a time; smaller work starts only if it keeps that",
    "short-first": "work loses priority as it holds GPUs, so that short work need not wait for long",
}
_CHOICES = (("elastic", "fixed"), ("packing", "spreading"))

# 1, 10, 100 and 1,000 GPU-hours.
SHORT_FIRST = geometric_levels(3600, 10, 4)


@dataclass(frozen=True, slots=True)
class Policy:
    name: str = "elastic"
    sharing: QueuePolicy = QueuePolicy.ELASTIC
    arrangement: Arrangement = Arrangement.PACKING
    reservations: int = 0
    levels: Levels = NO_LEVELS

    def cluster(self, nodes: tuple[Node, ...], guarantees: Mapping[str, int]) -> Cluster:
        """The cluster under this policy; guarantees in GPUs, surplus in proportion to them."""
        pool = Pool("default", arrangement=self.arrangement, reservations=self.reservations)
        queues = tuple(
            Queue(
                name,
                created=number,
                policy=self.sharing,
                quotas={
                    pool.name: {
                        Resource.GPU_MILLI: Quota(guarantee=gpus * WHOLE_DEVICE_MILLI, weight=max(1, gpus))
                    }
                },
            )
            for number, (name, gpus) in enumerate(sorted(guarantees.items()))
        )
        return Cluster(nodes, queues, (pool,))


def parse_policy(text: str) -> Policy:
    """A policy from words joined by commas; the defaults are elastic and packing."""
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if word not in WORDS:
            raise Invalid.field(
                "policy", f"There is no policy {word!r}.", f"Use some of: {', '.join(WORDS)}."
            )
    for choice in _CHOICES:
        if all(word in words for word in choice):
            raise Invalid.field("policy", f"{' and '.join(choice)} exclude each other.", "Keep one of them.")
    policy = Policy(name=text)
    if "fixed" in words:
        policy = replace(policy, sharing=QueuePolicy.FIXED)
    if "spreading" in words:
        policy = replace(policy, arrangement=Arrangement.SPREADING)
    if "backfill" in words:
        policy = replace(policy, reservations=1)
    if "short-first" in words:
        policy = replace(policy, levels=SHORT_FIRST)
    return policy
