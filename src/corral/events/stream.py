"""What goes over the wire: server-sent events for one client, until it may not listen any more."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from corral.api.callers import Caller
from corral.events.feed import Opened
from corral.events.subscription import encode

HEARTBEAT_SECONDS = 15.0
CHECK_SECONDS = 30.0
RETRY_MILLISECONDS = 3000

# The caller as of now, or None if the credential is not good any more.
Recheck = Callable[[], Awaitable[Caller | None]]


async def messages(opened: Opened, recheck: Recheck) -> AsyncGenerator[bytes, None]:
    subscription = opened.subscription
    clock = asyncio.get_running_loop().time
    beat_at = clock() + HEARTBEAT_SECONDS
    subscription.check_at = min(subscription.check_at, clock() + CHECK_SECONDS)
    yield _opening(opened) + b"".join(opened.missed)
    while not subscription.ended:
        if clock() >= subscription.check_at:
            subscription.check_at = clock() + CHECK_SECONDS
            caller = await recheck()
            if caller is None:
                return
            if caller.authorities != subscription.caller.authorities:
                subscription.caller = caller
                yield subscription.reset()
        if message := subscription.take():
            yield message
        elif clock() >= beat_at:
            yield subscription.heartbeat()
        else:
            await subscription.wait(min(beat_at, subscription.check_at) - clock())
            continue
        beat_at = clock() + HEARTBEAT_SECONDS


def _opening(opened: Opened) -> bytes:
    """Tells the current id. The client's own place is moved only by what it was sent."""
    name = "reset" if opened.reset else "ready"
    place = opened.current_id if opened.resumed_from is None else opened.resumed_from
    return encode(name, place, {"id": opened.current_id}, RETRY_MILLISECONDS)


class EventStreamResponse(StreamingResponse):
    """Ends when the client goes, when the stream does, and gives its place back in either case."""

    media_type = "text/event-stream"

    def __init__(self, opened: Opened, content: AsyncGenerator[bytes, None]) -> None:
        super().__init__(content, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._opened = opened
        self._content = content

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        # Who goes away is noticed at once, not at the next heartbeat: a reloaded page needs the place.
        streaming = asyncio.ensure_future(self.stream_response(send))
        gone = asyncio.ensure_future(self.listen_for_disconnect(receive))
        try:
            await asyncio.wait({streaming, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._opened.subscription.close()
            for task in (streaming, gone):
                task.cancel()
            await asyncio.gather(streaming, gone, return_exceptions=True)
            await self._content.aclose()
        if not streaming.cancelled():
            with suppress(OSError):  # the client went away while something was being sent
                streaming.result()
