"""What usage takes and answers."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from corral.api.models import GivenInstant, Input, Output
from corral.core.ids import PATTERN, Kind
from corral.usage.records import RecordPage
from corral.usage.sums import By, Per, Question, Sum
from corral.usage.visibility import Whose

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
        description="Id of what `by` tells apart, or its word (flavor, kind, model, mode, preemptible); "
        "empty for all, for none, and where it is not known.",
        examples=["u01k9x3v7qzt8m2c4w6d0ef"],
    )
    owner_name: str = Field(
        description="Name of the person, organisation, zone or pool; empty for others.",
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


class WhoseQuery(Input):
    """All filters must match."""

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

    def whose(self) -> Whose:
        return Whose(self.user, self.organisation, self.queue, self.workload)


class UsageQuery(WhoseQuery):
    """Whose usage, when, and how it is summed up."""

    since: GivenInstant | None = Field(
        None,
        description="From this moment on; 30 days before `until` if left out.",
        examples=["2026-11-01T00:00:00Z"],
    )
    until: GivenInstant | None = Field(
        None, description="Before this moment; now if left out.", examples=["2026-12-01T00:00:00Z"]
    )
    per: Per = Field("total", description="One sum for all of the time, or one per UTC day or hour.")
    by: By = Field(
        "all",
        description="What is told apart. Zone, pool, flavor, kind, model, mode and preemptible are those at "
        "the grant.",
    )

    @field_validator("until")
    @classmethod
    def _after_since(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        since = info.data.get("since")
        if since and until and since >= until:
            raise ValueError("it is not after since")
        return until

    def question(self, now: datetime) -> Question:
        until = self.until or max(now, self.since or now)
        return Question(
            since=self.since or until - timedelta(days=DEFAULT_DAYS),
            until=until,
            per=self.per,
            by=self.by,
            whose=self.whose(),
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


class RecordsQuery(WhoseQuery):
    after: int = Field(
        0, ge=0, lt=2**62, description="`next_after` of the last answer: what comes after it.", examples=[0]
    )
    limit: int = Field(200, ge=1, le=1000, description="How many items at most.")


class UsageRecord(Output):
    """How much of one resource was held in a stretch of time within one hour, and what it was at the grant.

    What is null is not known: it was granted before that was written down.
    """

    sequence: int = Field(description="Grows in the order in which records are posted.", examples=[4711])
    posted_at: datetime = Field(description="Never before that of the record before.")
    allocation_id: str = Field(examples=["w01k9x3v7qzt8m2c4w6d0ej-1-0"])
    workload_id: str
    attempt: int
    replica: int
    user_id: str
    organisation_id: str
    organisation_path: str = Field(description="Ids from the root to the organisation, at the grant.")
    queue_id: str
    zone_id: str
    zone_name: str | None
    pool_id: str | None
    pool_name: str | None
    node: str
    kind: str | None = Field(description="Of the workload.", examples=["training"])
    flavor: str | None = Field(description="Its name; empty for numbers.", examples=["gpu-8g"])
    device_model: str | None = Field(description="Empty without devices.", examples=["H100-80GB"])
    mode: str | None = Field(
        description="whole, vgpu, shared or mig; empty without devices.", examples=["whole"]
    )
    preemptible: bool | None
    resource: str = Field(examples=["gpu_milli"])
    model: str = Field(description="Of the device; empty for what has none.", examples=["H100-80GB"])
    amount: int = Field(examples=[1000])
    outcome: Literal["used", "lost"]
    started_at: datetime
    ended_at: datetime
    duration_us: int = Field(
        description="Microseconds; negative where it takes back an earlier record of the same stretch.",
        examples=[3600000000],
    )


class UsageRecords(Output):
    items: list[UsageRecord] = Field(description="In order of their sequence.")
    next_after: int = Field(
        description="Give it as `after` to read on, now or later. It moves on past what you may not see.",
        examples=[4711],
    )
    more: bool = Field(description="Whether there are records after `next_after` already.")


def shown_records(page: RecordPage) -> UsageRecords:
    items = [UsageRecord.model_validate(row, from_attributes=True) for row in page.rows]
    return UsageRecords(items=items, next_after=page.next_after, more=page.more)
