"""Answers that are sent piece by piece, for as long as whoever asked may have them."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress

from fastapi import Request
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from corral.api.standing import Check, drop, while_allowed

# For the last bytes, once there is no right to more.
_LAST_SECONDS = 1.0


class WatchedStream(StreamingResponse):
    """Ends when the client goes, when all is sent, and when the caller may not have it any more.

    What is cut off for that is broken off, so that nobody takes it for the whole.
    """

    def __init__(
        self,
        content: AsyncIterator[bytes] | AsyncIterator[str],
        request: Request,
        check: Check,
        *,
        media_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(content, media_type=media_type, headers=headers)
        self._content = content
        self._request, self._check = request, check

    def finish(self) -> bool:
        """Called when there is no right to more; whether the content ends by itself now."""
        return False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        # Who goes away is noticed at once, not when the next piece is sent: a reloaded page needs the place.
        streaming = asyncio.ensure_future(self.stream_response(send))
        gone = asyncio.ensure_future(self.listen_for_disconnect(receive))
        watch = asyncio.ensure_future(while_allowed(self._request, self._check))
        try:
            await asyncio.wait({streaming, gone, watch}, return_when=asyncio.FIRST_COMPLETED)
            if watch.done() and watch.exception() is None:  # Corral stops: that has an order of its own
                await asyncio.wait({streaming, gone}, return_when=asyncio.FIRST_COMPLETED)
            elif watch.done() and not gone.done():
                await self._cut(streaming)
        finally:
            for task in (streaming, gone, watch):
                task.cancel()
            await asyncio.gather(streaming, gone, watch, return_exceptions=True)
            if close := getattr(self._content, "aclose", None):
                await close()
        if not streaming.cancelled():
            with suppress(OSError):  # the client went away while something was being sent
                streaming.result()

    async def _cut(self, streaming: "asyncio.Future[None]") -> None:
        if self.finish():
            await asyncio.wait({streaming}, timeout=_LAST_SECONDS)
        if not streaming.done():
            streaming.cancel()
            await drop(self._request)
