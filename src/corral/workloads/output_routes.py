"""The output of workloads over HTTP."""

from collections.abc import AsyncIterator
from contextlib import ExitStack
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.types import Receive, Scope, Send

from corral.api.callers import Caller, WorkReader
from corral.api.models import Id, Output
from corral.api.once import Db
from corral.api.patience import patience
from corral.api.problems import Problem
from corral.api.standing import Check
from corral.api.streams import WatchedStream
from corral.core.concurrency import ConcurrencyLimit
from corral.core.runs import RunId
from corral.engines.interface import Reach
from corral.store.database import Database
from corral.workloads import output, visibility
from corral.workloads.context import WorkloadsHere, Zones

router = APIRouter(prefix="/workloads", tags=["workloads"])

MOST_BYTES = 1024 * 1024
LONGEST_WAIT_SECONDS = 25
LARGEST_OFFSET = 2**53 - 1


class Log(Output):
    """A part of what a replica wrote. `next` is where to read on."""

    attempt: int = Field(description="Of which it is; 0 when there was none yet.")
    replica: int
    offset: int = Field(description="Where the text begins, in bytes since the replica's first.")
    next: int = Field(description="Give it as `after` to read on.")
    dropped: int = Field(description="Bytes after `after` that are no longer kept.")
    ended: bool = Field(description="Nothing will come after `next`.")
    text: str = Field(description="Secret values are starred; bytes that are no UTF-8 are replaced.")


def log_places() -> ConcurrencyLimit:
    """For one person: a console with several windows and some commands."""
    return ConcurrencyLimit(
        32, "requests for output", "Close other windows or commands that follow output, then try again."
    )


class _Download(WatchedStream):
    """A file that is sent piece by piece, as fast as it is read; gives its place back at the end."""

    def __init__(
        self,
        content: AsyncIterator[bytes],
        request: Request,
        check: Check,
        name: str,
        resources: ExitStack,
    ) -> None:
        super().__init__(
            content,
            request,
            check,
            media_type="text/plain; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
        self._held = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)


async def _engine(database: Database, caller: Caller, zones: Zones, workload_id: str) -> Reach:
    found = await database.read(visibility.find, caller, workload_id)
    return await zones.reach(found.row.zone_id)


Attempt = Annotated[
    int | None, Query(ge=1, le=2**31 - 1, description="Left out: the last one, or the one to come.")
]
Number = Annotated[int, Query(alias="replica", ge=0, le=9999)]


@router.get("/{workload_id}/logs", responses={429: {"description": "Too many wait.", "model": Problem}})
async def read_logs(
    request: Request,
    database: Db,
    caller: WorkReader,
    here: WorkloadsHere,
    workload_id: Id,
    attempt: Attempt = None,
    replica: Number = 0,
    after: Annotated[int, Query(ge=0, le=LARGEST_OFFSET, description="The `next` of the last answer.")] = 0,
    tail_bytes: Annotated[
        int | None, Query(ge=1, le=MOST_BYTES, description="Instead of `after`: about the last so many.")
    ] = None,
    limit: Annotated[int, Query(ge=1024, le=MOST_BYTES, description="Most bytes at once.")] = 256 * 1024,
    wait_seconds: Annotated[
        int,
        Query(
            ge=0,
            le=LONGEST_WAIT_SECONDS,
            description="Answer as soon as there is more or it has ended, and after this time at the latest.",
        ),
    ] = 0,
) -> Log:
    """What a replica wrote, from an offset on. Ask with `wait_seconds` again and again to follow it."""

    async def find(now: Caller = caller) -> output.Place:
        return await database.read(output.find_place, now, here.masks, workload_id, attempt, replica)

    engine = await _engine(database, caller, here.zones, workload_id)
    with here.logs.taken(caller.user_id):
        if tail_bytes is not None:
            after = await output.tail_offset(engine, await find(), tail_bytes)
        async with patience(request, wait_seconds, find) as patient:
            place, part = await output.wait_for_part(
                database, engine, here.masker, find, after, limit, patient
            )
    return Log(
        attempt=place.attempt,
        replica=place.number,
        offset=part.offset,
        next=part.next,
        dropped=part.dropped,
        ended=part.ended,
        text=part.data.decode(errors="replace"),
    )


@router.get(
    "/{workload_id}/logs/download",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "All that is kept until now, as a file.",
            "content": {"text/plain": {"schema": {"type": "string"}}},
        },
        429: {"description": "Too many are open.", "model": Problem},
    },
)
async def download_logs(
    request: Request,
    database: Db,
    caller: WorkReader,
    here: WorkloadsHere,
    workload_id: Id,
    attempt: Attempt = None,
    replica: Number = 0,
) -> StreamingResponse:
    """All that a replica wrote and that is kept, as a file; secret values are starred."""
    engine = await _engine(database, caller, here.zones, workload_id)

    async def find(now: Caller) -> output.Place:
        return await database.read(output.find_place, now, here.masks, workload_id, attempt, replica)

    place = await find(caller)
    name = f"{RunId(workload_id, place.attempt, place.number)}.log"
    resources = ExitStack()
    resources.enter_context(here.logs.taken(caller.user_id))
    content = output.everything(engine, here.masker, place)
    return _Download(content, request, find, name, resources)
