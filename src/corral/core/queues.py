"""Queues: who is guaranteed what, where the ceiling is, and how surplus is shared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from corral.core.resources import UNLIMITED, Resource


class QueuePolicy(StrEnum):
    """A fixed queue neither borrows nor lends; an elastic one does both."""

    FIXED = "fixed"
    ELASTIC = "elastic"


@dataclass(frozen=True, slots=True)
class Quota:
    """Of one resource in one pool. -1 means everything as a guarantee and none as a limit.

    `usage_ppm` is the decayed share of the pool that the queue used in recent history.
    """

    guarantee: int = UNLIMITED
    limit: int = UNLIMITED
    weight: int = 1
    usage_ppm: int = 0


@dataclass(frozen=True, slots=True)
class Queue:
    """A node of the queue tree. A resource without a quota is not divided: it never decides.

    `created` orders equals, older first. The minimum run times protect work from being taken;
    a queue without its own has its parent's. So it is with the typical run time, which is learnt and
    stands in for work that says nothing about itself. Where more was learnt, `runtimes_seconds` are run
    times that are equally likely, and `limit_uses_milli` equally likely parts of its limit that work used.
    """

    name: str
    parent: str | None = None
    priority: int = 0
    created: int = 0
    policy: QueuePolicy = QueuePolicy.ELASTIC
    quotas: Mapping[str, Mapping[Resource, Quota]] = field(default_factory=dict)
    reclaim_min_runtime_seconds: int | None = None
    preempt_min_runtime_seconds: int | None = None
    typical_runtime_seconds: int | None = None
    runtimes_seconds: tuple[int, ...] = ()
    limit_uses_milli: tuple[int, ...] = ()
