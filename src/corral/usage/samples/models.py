"""What the samples' routes take and answer."""

from datetime import datetime, timedelta
from typing import Annotated, get_args

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from corral.api.models import GivenInstant, Input, Output
from corral.usage.clock import moment_of
from corral.usage.samples.points import Metric, SubjectKind
from corral.usage.samples.query import Answer, Sample

MOST_POINTS = 1000
_US_PER_SECOND = 1_000_000
_KINDS = "|".join(get_args(SubjectKind))

Subject = Annotated[str, StringConstraints(pattern=rf"^(?:{_KINDS}):[A-Za-z0-9][A-Za-z0-9._:/-]{{0,159}}$")]


class SamplesQuery(Input):
    subject: Subject = Field(
        description="node:<id>, device:<node id>/<device>, workload:<id>, or replica:<run> with the name "
        "<workload>-<attempt>-<index>.",
        examples=["node:n01k9x3v7qzt8m2c4w6d0aa"],
    )
    metric: list[Metric] = Field(
        min_length=1,
        max_length=len(Metric),
        description="What to show; repeat it for several.",
        examples=[["cpu_milli", "memory_bytes"]],
    )
    since: GivenInstant | None = Field(
        None,
        description="From then on; an hour before `until` if left out.",
        examples=["2026-11-15T08:00:00Z"],
    )
    until: GivenInstant | None = Field(
        None, description="Before then; now if left out.", examples=["2026-11-15T09:00:00Z"]
    )
    points: int = Field(
        300, ge=1, le=MOST_POINTS, description="How many steps of time the answer has at most, about."
    )

    @field_validator("until")
    @classmethod
    def _after_since(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        since = info.data.get("since")
        if since and until and since >= until:
            raise ValueError("it is not after since")
        return until

    def span(self, now: datetime) -> tuple[int, int]:
        """Whole seconds, the last one included."""
        until = self.until or max(now, self.since or now)
        since = self.since or until - timedelta(hours=1)
        return int(since.timestamp()), int(until.timestamp()) + 1


class SamplePoint(Output):
    at: datetime = Field(description="When the step begins, in UTC.", examples=["2026-11-15T08:00:00Z"])
    lowest: int = Field(examples=[120])
    mean: float = Field(examples=[310.5])
    highest: int = Field(examples=[990])


class SampleSeries(Output):
    metric: Metric = Field(description="The unit is in its name.", examples=["cpu_milli"])
    points: list[SamplePoint] = Field(description="Steps without any sample are left out.")


class SampleAnswer(Output):
    """Series of one subject."""

    step_seconds: int = Field(
        description="How long one point stands for; usually that far apart they are.", examples=[60]
    )
    items: list[SampleSeries]


def shown(answer: Answer) -> SampleAnswer:
    return SampleAnswer(
        step_seconds=answer.apart_seconds,
        items=[
            SampleSeries(metric=metric, points=[_point(one) for one in samples])
            for metric, samples in answer.samples.items()
        ],
    )


def _point(one: Sample) -> SamplePoint:
    return SamplePoint(
        at=moment_of(one.at * _US_PER_SECOND), lowest=one.lowest, mean=one.mean, highest=one.highest
    )
