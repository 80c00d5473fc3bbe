"""HTTP: samples of nodes, devices and workloads over time."""

from typing import Annotated, cast

from fastapi import APIRouter, Query

from corral.api.callers import Caller, SignedIn, lacking
from corral.api.once import Db
from corral.core.permissions import OWN_WORK, Permission
from corral.core.runs import RunId
from corral.store.database import Transaction
from corral.usage.context import SeeWorkload, UsageHere
from corral.usage.samples.models import SampleAnswer, SamplesQuery, shown
from corral.usage.samples.points import SubjectKind

router = APIRouter(prefix="/samples", tags=["usage"])

SamplesReader = Annotated[Caller, SignedIn(Permission.ZONES_READ, *OWN_WORK)]


@router.get("", summary="Read samples over time")
async def read_samples(
    database: Db, usage: UsageHere, caller: SamplesReader, query: Annotated[SamplesQuery, Query()]
) -> SampleAnswer:
    """Of your workloads, and with `zones.read` of nodes and devices; as finely as so many points allow."""
    kind, _, subject = query.subject.partition(":")
    await database.read(_check_visible, caller, cast("SubjectKind", kind), subject, usage.see_workload)
    since, until = query.span(database.now())
    answer = await usage.samples.query(
        cast("SubjectKind", kind), subject, query.metric, since=since, until=until, points=query.points
    )
    return shown(answer)


def _check_visible(
    transaction: Transaction, caller: Caller, kind: SubjectKind, subject: str, see_workload: SeeWorkload
) -> None:
    if kind in ("node", "device"):
        if not caller.scopes(Permission.ZONES_READ):
            raise lacking(Permission.ZONES_READ, "some organisation")
        return
    run = RunId.parse(subject)
    see_workload(transaction, caller, subject if run is None else run.workload_id)
