"""What goes over the wire: server-sent events for one client, until it may not listen any more."""

import asyncio
from collections.abc import AsyncGenerator

from fastapi import Request
from starlette.types import Receive, Scope, Send

from corral.api.streams import WatchedStream
from corral.events.feed import Opened
from corral.events.subscription import encode

HEARTBEAT_SECONDS = 15.0
RETRY_MILLISECONDS = 3000


async def messages(opened: Opened) -> AsyncGenerator[bytes, None]:
    subscription = opened.subscription
    clock = asyncio.get_running_loop().time
    beat_at = clock() + HEARTBEAT_SECONDS
    yield _opening(opened) + b"".join(opened.missed)
    while not subscription.ended:
        if message := subscription.take():
            yield message
        elif clock() >= beat_at:
            yield subscription.heartbeat()
        else:
            await subscription.wait(beat_at - clock())
            continue
        beat_at = clock() + HEARTBEAT_SECONDS


def _opening(opened: Opened) -> bytes:
    """Sends the current id. Only events that the client was sent move its position."""
    name = "reset" if opened.reset else "ready"
    place = opened.current_id if opened.resumed_from is None else opened.resumed_from
    return encode(name, place, {"id": opened.current_id}, RETRY_MILLISECONDS)


class EventStreamResponse(WatchedStream):
    """Gives its place back at the end, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, opened: Opened, request: Request) -> None:
        self._subscription = opened.subscription
        super().__init__(
            messages(opened),
            request,
            opened.subscription.adopt,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def finish(self) -> bool:
        self._subscription.end()
        return True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._subscription.close()
