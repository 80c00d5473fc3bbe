"""Is it alive, can it work, what does it count."""

from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from sqlalchemy import select

from corral.api import metrics
from corral.api.callers import Anyone, AnyToken, Caller, Origin, Requires
from corral.api.models import Output
from corral.api.once import Db
from corral.api.parts import part_of
from corral.control.zone_metrics import Counted
from corral.core.permissions import Permission
from corral.platform.service import require_system_reader
from corral.server.openapi import describe
from corral.server.readiness import Readiness
from corral.store.database import Transaction

router = APIRouter(tags=["health"])


class Health(Output):
    status: Literal["ok"] = "ok"


@router.get("/healthz")
async def get_health(origin: Annotated[Origin, Anyone]) -> Health:  # noqa: ARG001
    """The process answers."""
    return Health()


@router.get("/readyz")
async def get_readiness(
    request: Request,
    database: Db,
    origin: Annotated[Origin, Anyone],  # noqa: ARG001
) -> Health:
    """The database answers, the loops do their work, and the data directory can be written; else 503 and what
    does not work, by name. What cannot be done for one workload is on its page and changes nothing here."""
    await database.read(_ask)
    await part_of(request, Readiness).check()
    return Health()


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def get_metrics(
    request: Request, database: Db, caller: Annotated[Caller, Requires(Permission.SYSTEM_READ)]
) -> Response:
    """What Corral counts, for Prometheus."""
    await database.read(require_system_reader, caller)
    await part_of(request, Counted).renew(database)
    return Response(metrics.exposition(), media_type=metrics.CONTENT_TYPE)


@router.get("/api/v1/openapi.json", response_class=JSONResponse, include_in_schema=False)
async def get_description(request: Request, caller: AnyToken) -> dict[str, object]:  # noqa: ARG001
    return describe(request.app)


def _ask(transaction: Transaction) -> None:
    transaction.scalar(select(1))
