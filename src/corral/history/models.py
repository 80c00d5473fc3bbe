"""What the API takes and answers about history."""

from datetime import datetime
from typing import Any

from pydantic import Field

from corral.api.models import GivenInstant, Id, Input, Output
from corral.core.resources import Resource
from corral.history.queries import Span
from corral.zones.history import HistoryKind


class SpanQuery(Input):
    since: GivenInstant | None = Field(
        None, description="From this moment on.", examples=["2026-11-01T00:00:00Z"]
    )
    until: GivenInstant | None = Field(
        None, description="Before this moment.", examples=["2026-12-01T00:00:00Z"]
    )
    limit: int = Field(200, ge=1, le=1000, description="How many items at most.")

    def span(self) -> Span:
        return Span(self.since, self.until)


class QueueHistoryQuery(SpanQuery):
    after: int = Field(0, ge=0, lt=2**62, description="`next_after` of the last answer.", examples=[0])
    queue: Id | None = Field(None, description="Id of a queue.", examples=["q01k9x3v7qzt8m2c4w6d0eh"])
    pool: Id | None = Field(None, description="Id of a pool.", examples=["p01k9x3v7qzt8m2c4w6d0eh"])


class ClusterHistoryQuery(SpanQuery):
    after: int = Field(0, ge=0, lt=2**62, description="`next_after` of the last answer.", examples=[0])
    kind: HistoryKind | None = Field(None, description="node, pool or queue.", examples=["node"])
    object: Id | None = Field(
        None, description="Id of a node, pool or queue.", examples=["n01k9x3v7qzt8m2c4w6d0eh"]
    )


class ArrivalQuery(SpanQuery):
    after: Id | None = Field(
        None, description="Id of the last workload that was read.", examples=["w01k9x3v7qzt8m2c4w6d0ej"]
    )


class QueueShare(Output):
    """A queue's share of one resource of a pool, from `at` on until the next one."""

    sequence: int = Field(examples=[12])
    at: datetime
    zone_id: str
    pool_id: str
    queue_id: str
    resource: Resource
    guarantee: int = Field(description="As the scheduler has it.", examples=[8000])
    fair_share: int = Field(examples=[6000])
    allocated: int = Field(description="To its work and all below it.", examples=[7000])
    wanted: int = Field(description="What that waits for.", examples=[2000])
    lent: int = Field(description="Of its guarantee, to siblings that hold more than theirs.", examples=[0])
    borrowed: int = Field(description="What it holds beyond its guarantee.", examples=[0])


class QueueHistory(Output):
    items: list[QueueShare] = Field(description="In order of their sequence.")
    next_after: int = Field(description="Give it as `after` to read on, now or later.", examples=[12])
    more: bool


class ClusterChange(Output):
    """A node, a pool or what a queue is entitled to, before and after a change."""

    sequence: int = Field(examples=[12])
    at: datetime
    kind: HistoryKind
    object_id: str
    before: dict[str, Any] | None = Field(description="null: it was not there, or not recorded yet.")
    after: dict[str, Any] | None = Field(description="null: it is gone.")


class ClusterHistory(Output):
    items: list[ClusterChange] = Field(description="In order of their sequence.")
    next_after: int = Field(description="Give it as `after` to read on, now or later.", examples=[12])
    more: bool


class Arrival(Output):
    """A workload: when it came, what it asked for, and how long it ran."""

    workload_id: str
    kind: str = Field(examples=["training"])
    zone_id: str
    queue_id: str
    user_id: str
    organisation_id: str
    submitted_at: datetime
    started_at: datetime | None = Field(description="Its first attempt.")
    ended_at: datetime | None
    state: str = Field(description="That it is in, or ended in.", examples=["succeeded"])
    attempts: int
    run_us: int = Field(description="Microseconds of its closed attempts.", examples=[3600000000])
    priority: int
    preemptible: bool
    replicas: int
    flavor: str = Field(description="Its name; empty for numbers.")
    request: dict[str, Any] = Field(description="What one replica asked for.")
    time_limit_seconds: int | None


class Arrivals(Output):
    items: list[Arrival] = Field(description="In the order in which they were submitted.")
    next_after: str | None = Field(description="Give it as `after` to read on; null: that was all.")
