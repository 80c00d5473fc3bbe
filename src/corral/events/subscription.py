"""One listener: what waits to be sent to it, bounded, and when its authority is looked at again."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from corral.api.callers import Caller


def encode(name: str, identifier: int, data: dict[str, Any], retry_milliseconds: int | None = None) -> bytes:
    """One message in the format of server-sent events."""
    retry = "" if retry_milliseconds is None else f"retry: {retry_milliseconds}\n"
    text = json.dumps(data, separators=(",", ":"))
    return f"{retry}id: {identifier}\nevent: {name}\ndata: {text}\n\n".encode()


class Subscription:
    def __init__(self, caller: Caller, capacity: int, closed: Callable[["Subscription"], None]) -> None:
        self.caller = caller
        self.position = 0  # everything up to this event was offered, whether the caller may see it or not
        self.ended = False
        self._capacity = capacity
        self._closed: Callable[[Subscription], None] | None = closed
        self._waiting: deque[bytes] = deque()
        self._overflowed = False
        self._changed = asyncio.Event()

    def offer(self, messages: Sequence[bytes], position: int) -> None:
        """Queues what the caller may see. A client that reads too slowly gets a reset instead."""
        self.position = position
        if not messages:
            return
        if self._overflowed or len(self._waiting) + len(messages) > self._capacity:
            self._waiting.clear()
            self._overflowed = True
        else:
            self._waiting.extend(messages)
        self._changed.set()

    def take(self) -> bytes:
        """What is to be sent now; empty if nothing is."""
        if self._overflowed:
            self._overflowed = False
            return self.reset()
        message = b"".join(self._waiting)
        self._waiting.clear()
        return message

    def reset(self) -> bytes:
        """Tells the client that it may have missed anything, and goes on from here."""
        self._waiting.clear()
        return encode("reset", self.position, {"id": self.position})

    def heartbeat(self) -> bytes:
        """Keeps proxies from closing an idle stream, and moves the client's place on.

        An id without data is no event to a browser, but it resumes from there: one who may see little does
        not fall behind the journal.
        """
        return f": alive\nid: {self.position}\n\n".encode()

    async def wait(self, seconds: float) -> None:
        """Until there is something to send or to do, at most so long."""
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                await self._changed.wait()
        except TimeoutError:
            return
        self._changed.clear()

    async def adopt(self, caller: Caller) -> None:
        """Applies the caller's current permissions; a client that may now see other things gets a reset."""
        if caller.authorities != self.caller.authorities:
            self.caller = caller
            self._waiting.clear()
            self._overflowed = True
            self._changed.set()

    def end(self) -> None:
        """The stream ends by itself; the client connects again if it may."""
        self.ended = True
        self._changed.set()

    def close(self) -> None:
        """Gives the place back; called once the client is gone."""
        if self._closed is not None:
            self._closed(self)
            self._closed = None
