"""HTTP: the stream of changes."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request

from corral.api.callers import AnyToken
from corral.api.parts import part_of
from corral.api.problems import Problem
from corral.events.feed import EventFeed
from corral.events.stream import EventStreamResponse

router = APIRouter(tags=["events"])

_EXAMPLE = """\
retry: 3000
id: 4711
event: ready
data: {"id":4711}

id: 4712
event: changed
data: {"kind":"user","id":"u01k9x3v7qzt8m2c4w6d0ef","generation":3,"scope":"/o01k9x3v7qzt8m2c4w6d0ef/"}

"""
_MOST = 64


@router.get(
    "/events",
    status_code=200,
    summary="Listen to changes",
    response_class=EventStreamResponse,
    responses={
        200: {
            "description": "Server-sent events, until the client goes or the credential ends.",
            "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
        },
        429: {"description": "Too many streams are open.", "model": Problem},
    },
)
async def listen(
    request: Request,
    caller: AnyToken,
    last_event_id: Annotated[
        str | None,
        Header(max_length=_MOST, description="The last id received: the stream continues after it."),
    ] = None,
    last_event_id_in_query: Annotated[
        str | None,
        Query(alias="last_event_id", max_length=_MOST, description="For clients that cannot set headers."),
    ] = None,
) -> EventStreamResponse:
    """Says what changed, as far as you may see it; read the object itself for what it is now.

    `ready` comes first and tells the newest id. `changed` names kind, id, generation and scope of an object.
    `reset` means that changes may have been missed: read everything again that is shown. A comment
    arrives every 15 seconds. The stream ends with the session or token; up to 8 may be open per person.
    """
    feed = part_of(request, EventFeed)
    opened = await feed.open(caller, last_event_id if last_event_id is not None else last_event_id_in_query)
    return EventStreamResponse(opened, request)
