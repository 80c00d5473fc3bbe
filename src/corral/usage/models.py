"""What usage takes and answers."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from corral.api.models import GivenInstant, Input, Output
from corral.core.ids import PATTERN, Kind
from corral.usage.sums import By, Per, Question, Sum

DEFAULT_DAYS = 30
_US_PER_SECOND = 1_000_000


def _id_of(kind: Kind) -> StringConstraints:
    return StringConstraints(pattern=f"^{kind}{PATTERN.removeprefix('[a-z]')}$")


UserId = Annotated[str, _id_of(Kind.USER)]
OrganisationId = Annotated[str, _id_of(Kind.ORGANISATION)]
QueueId = Annotated[str, _id_of(Kind.QUEUE)]
WorkloadId = Annotated[str, _id_of(Kind.WORKLOAD)]


class UsageSum(Output):
    """How much of one resource was held, in one period."""

    since: datetime = Field(description="When the period begins, in UTC.", examples=["2026-11-15T08:00:00Z"])
    owner: str = Field(
        description="Id of what `by` tells apart; empty for all.", examples=["u01k9x3v7qzt8m2c4w6d0ef"]
    )
    owner_name: str = Field(
        description="Name of the person or organisation; empty for others, and for what is gone.",
        examples=["mei"],
    )
    resource: str = Field(
        description="gpu_milli (a thousandth of a GPU), cpu_milli (of a core) or memory_mib.",
        examples=["gpu_milli"],
    )
    model: str = Field(description="The device's model; empty for what has none.", examples=["H100-80GB"])
    outcome: Literal["used", "lost"] = Field(
        description="lost: work that an eviction undid, charged to nobody.", examples=["used"]
    )
    amount_seconds: int = Field(
        description="The amount times the seconds it was held, rounded down: one GPU for an hour is 3600000.",
        examples=[3600000],
    )


class UsageSums(Output):
    since: datetime = Field(examples=["2026-11-01T00:00:00Z"])
    until: datetime = Field(examples=["2026-12-01T00:00:00Z"])
    items: list[UsageSum]


class UsageQuery(Input):
    """Filters are combined: all of them must fit."""

    user: UserId | None = Field(None, description="Id of a person.", examples=["u01k9x3v7qzt8m2c4w6d0ef"])
    organisation: OrganisationId | None = Field(
        None,
        description="Id of an organisation: it and everything below.",
        examples=["o01k9x3v7qzt8m2c4w6d0eg"],
    )
    queue: QueueId | None = Field(None, description="Id of a queue.", examples=["q01k9x3v7qzt8m2c4w6d0eh"])
    workload: WorkloadId | None = Field(
        None, description="Id of a workload.", examples=["w01k9x3v7qzt8m2c4w6d0ej"]
    )
    since: GivenInstant | None = Field(
        None,
        description="From this moment on; 30 days before `until` if left out.",
        examples=["2026-11-01T00:00:00Z"],
    )
    until: GivenInstant | None = Field(
        None, description="Before this moment; now if left out.", examples=["2026-12-01T00:00:00Z"]
    )
    per: Per = Field("total", description="One sum for all of the time, or one per UTC day or hour.")
    by: By = Field("all", description="What is told apart.")

    @field_validator("until")
    @classmethod
    def _after_since(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        since = info.data.get("since")
        if since and until and since >= until:
            raise ValueError("it is not later than since")
        return until

    def question(self, now: datetime) -> Question:
        until = self.until or max(now, self.since or now)
        return Question(
            since=self.since or until - timedelta(days=DEFAULT_DAYS),
            until=until,
            per=self.per,
            by=self.by,
            user_id=self.user,
            organisation_id=self.organisation,
            queue_id=self.queue,
            workload_id=self.workload,
        )


def shown(one: Sum) -> UsageSum:
    return UsageSum(
        since=one.since,
        owner=one.owner,
        owner_name=one.owner_name,
        resource=one.resource,
        model=one.model,
        outcome=one.outcome,
        amount_seconds=one.amount_us // _US_PER_SECOND,
    )
