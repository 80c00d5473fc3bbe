"""HTTP: what a workload reported."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from corral.api.callers import Caller, WorkReader
from corral.api.once import Db
from corral.store.database import Transaction
from corral.usage.context import SeeWorkload, UsageHere
from corral.usage.metrics.models import MetricsQuery, ReportedMetrics, shown
from corral.usage.metrics.service import curves
from corral.usage.models import WorkloadId

router = APIRouter(prefix="/workloads", tags=["usage"])


@router.get("/{id}/metrics", summary="Read what a workload reported")
async def read_metrics(
    database: Db,
    usage: UsageHere,
    caller: WorkReader,
    workload_id: Annotated[WorkloadId, Path(alias="id", examples=["w01k9x3v7qzt8m2c4w6d0ej"])],
    query: Annotated[MetricsQuery, Query()],
) -> ReportedMetrics:
    """Loss, accuracy and the like, as given to `report(...)`, step by step."""
    return await database.scan(_read, caller, workload_id, query, usage.see_workload)


def _read(
    transaction: Transaction, caller: Caller, workload_id: str, query: MetricsQuery, see_workload: SeeWorkload
) -> ReportedMetrics:
    see_workload(transaction, caller, workload_id)
    return shown(*curves(transaction, workload_id, query.name, query.points))
