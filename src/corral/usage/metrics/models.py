"""What reported metrics are asked for and answered as."""

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from corral.api.models import Input, Output, storable
from corral.usage.metrics.rules import MOST_NAMES
from corral.usage.metrics.service import Curve
from corral.usage.metrics.tables import METRIC_NAME_LENGTH

MOST_POINTS = 1000

MetricName = Annotated[
    str, StringConstraints(min_length=1, max_length=METRIC_NAME_LENGTH), AfterValidator(storable)
]


class MetricsQuery(Input):
    name: list[MetricName] = Field(
        default_factory=list,
        max_length=MOST_NAMES,
        description="Which metrics; repeat it for several, leave it out for all.",
        examples=[["loss"]],
    )
    points: int = Field(300, ge=1, le=MOST_POINTS, description="How many points a series has at most.")


class ReportedPoint(Output):
    """One report, or several in a row where there are more than asked for. What is no number is null."""

    step: int = Field(examples=[1200])
    at: datetime = Field(examples=["2026-11-15T08:30:00Z"])
    lowest: float | None = Field(examples=[0.31])
    mean: float | None = Field(examples=[0.33])
    highest: float | None = Field(examples=[0.36])


class ReportedMetric(Output):
    """What one replica reported under one name in one attempt."""

    name: str = Field(examples=["loss"])
    attempt: int = Field(examples=[1])
    replica: int = Field(examples=[0])
    reports: int = Field(description="How many there were.", examples=[48210])
    last_step: int = Field(examples=[48209])
    last_at: datetime = Field(examples=["2026-11-15T09:00:00Z"])
    last_value: float | None = Field(examples=[0.29])
    lowest: float | None = Field(description="Of all reports.", examples=[0.28])
    highest: float | None = Field(description="Of all reports.", examples=[2.31])
    points: list[ReportedPoint]


class ReportedMetrics(Output):
    items: list[ReportedMetric] = Field(description="By name, attempt and replica.")
    dropped: int = Field(
        description="Values that were not taken: no number, too many names, or beyond its owner's bounds.",
        examples=[0],
    )


def shown(curves: list[Curve], dropped: int) -> ReportedMetrics:
    return ReportedMetrics(items=[_metric(one) for one in curves], dropped=dropped)


def _metric(curve: Curve) -> ReportedMetric:
    row = curve.row
    return ReportedMetric(
        name=row.name,
        attempt=row.attempt,
        replica=row.replica,
        reports=row.reports,
        last_step=row.last_step,
        last_at=row.last_at,
        last_value=row.last_value,
        lowest=row.lowest,
        highest=row.highest,
        points=[ReportedPoint(**point._asdict()) for point in curve.points],
    )
