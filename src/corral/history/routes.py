"""HTTP: the history of queues, of the cluster, and of work that arrived."""

from typing import Annotated

from fastapi import APIRouter, Query

from corral.api.callers import Caller, Requires, SignedIn
from corral.api.once import Db
from corral.core.permissions import Permission
from corral.history import queries
from corral.history.models import (
    Arrival,
    ArrivalQuery,
    Arrivals,
    ClusterChange,
    ClusterHistory,
    ClusterHistoryQuery,
    QueueHistory,
    QueueHistoryQuery,
    QueueShare,
)

router = APIRouter(prefix="/history", tags=["history"])

QueueReader = Annotated[Caller, Requires(Permission.QUEUES_READ)]
ClusterReader = Annotated[Caller, Requires(Permission.ZONES_READ)]
UsageReader = Annotated[Caller, SignedIn(Permission.USAGE_READ)]


@router.get("/queues", summary="Read shares of queues over time")
async def read_queue_history(
    database: Db, caller: QueueReader, query: Annotated[QueueHistoryQuery, Query()]
) -> QueueHistory:
    """Guarantee, fair share, allocated, wanted, lent and borrowed. A row holds until the next one."""
    page = await database.scan(
        queries.read_queue_history,
        caller,
        query.span(),
        query.queue,
        query.pool,
        query.after,
        query.limit,
    )
    items = [QueueShare.model_validate(row, from_attributes=True) for row in page.rows]
    return QueueHistory(items=items, next_after=page.next_after, more=page.more)


@router.get("/cluster", summary="Read changes of nodes, pools and quotas")
async def read_cluster_history(
    database: Db, caller: ClusterReader, query: Annotated[ClusterHistoryQuery, Query()]
) -> ClusterHistory:
    """As values, before and after."""
    page = await database.scan(
        queries.read_cluster_history,
        caller,
        query.span(),
        query.kind,
        query.object,
        query.after,
        query.limit,
    )
    items = [ClusterChange.model_validate(row, from_attributes=True) for row in page.rows]
    return ClusterHistory(items=items, next_after=page.next_after, more=page.more)


@router.get("/arrivals", summary="Read arrivals and run times")
async def read_arrivals(
    database: Db, caller: UsageReader, query: Annotated[ArrivalQuery, Query()]
) -> Arrivals:
    """Your own work always; that of others in organisations on which you have `usage.read`."""
    rows = await database.scan(queries.read_arrivals, caller, query.span(), query.after or "", query.limit)
    items = [Arrival.model_validate(row, from_attributes=True) for row in rows]
    return Arrivals(items=items, next_after=items[-1].workload_id if len(items) == query.limit else None)
