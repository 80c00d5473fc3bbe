"""A client of the event stream that speaks ASGI directly: an endless answer is read piece by piece."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request

from corral.api.callers import ApiContext, Authority, Caller, Origin
from corral.api.parts import provide
from corral.api.problems import install_problem_handlers
from corral.core.permissions import Permission
from corral.core.refusals import Unauthenticated
from corral.events.feed import EventFeed
from corral.events.routes import router
from corral.store.keyring import Keyring

ROOT = "/o-root/"
LAB = "/o-root/o-lab/"
OTHER = "/o-root/o-other/"


def person(user_id: str, *permissions: Permission, path: str = LAB) -> Caller:
    authorities = (Authority(path, frozenset(permissions)),) if permissions else ()
    return Caller(user_id, user_id, "session", f"s-{user_id}", Origin("127.0.0.1", "request"), authorities)


class Door:
    """Lets in whom the test says, by a header; counts the looks that are no sign of life."""

    def __init__(self, *callers: Caller) -> None:
        self.callers = {caller.user_id: caller for caller in callers}
        self.rechecks = 0

    async def __call__(self, request: Request) -> Caller:
        self.rechecks += getattr(request.state, "passive", False)
        caller = self.callers.get(request.headers.get("x-person", ""))
        if caller is None:
            raise Unauthenticated("The session has ended.", "Sign in again.")
        return caller


def make_app(feed: EventFeed, door: Door) -> FastAPI:
    app = FastAPI()
    install_problem_handlers(app)
    app.include_router(router, prefix="/api/v1")
    keyring = Keyring([bytes(32)])
    provide(app, feed, ApiContext(feed._database, keyring, door, feed._stopping))
    return app


@dataclass
class Message:
    name: str
    id: int
    data: Any
    comment: str = ""


class Stream:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.received: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.may_send = asyncio.Event()
        self.may_send.set()
        self._text = b""

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {k.decode(): v.decode() for k, v in message["headers"]}
            return
        await self.may_send.wait()
        if message["body"]:
            self.received.put_nowait(message["body"])
        if not message.get("more_body", False):
            self.received.put_nowait(None)

    async def body(self) -> bytes:
        """The whole answer, of one that ends."""
        async with asyncio.timeout(20):
            while (part := await self.received.get()) is not None:
                self._text += part
        return self._text

    async def next(self) -> Message | None:
        """The next message or comment; None at the end of the stream."""
        async with asyncio.timeout(20):
            while b"\n\n" not in self._text:
                part = await self.received.get()
                if part is None:
                    return None
                self._text += part
        block, _, self._text = self._text.partition(b"\n\n")
        fields = dict(line.split(": ", 1) for line in block.decode().split("\n") if not line.startswith(":"))
        comment = next((line for line in block.decode().split("\n") if line.startswith(":")), "")
        data = json.loads(fields["data"]) if "data" in fields else None
        return Message(fields.get("event", ""), int(fields["id"]), data, comment)


@asynccontextmanager
async def connected(
    app: FastAPI, who: str, last_event_id: str | None = None, query: str = ""
) -> AsyncIterator[Stream]:
    stream, leave = Stream(), asyncio.Event()
    headers = [(b"x-person", who.encode())]
    if last_event_id is not None:
        headers.append((b"last-event-id", last_event_id.encode()))
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "path": "/api/v1/events",
        "raw_path": b"/api/v1/events",
        "query_string": query.encode(),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "scheme": "http",
        "root_path": "",
        "state": {"origin": Origin("127.0.0.1", "request")},
    }
    asked = False

    async def receive() -> Any:
        nonlocal asked
        if not asked:
            asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await leave.wait()
        return {"type": "http.disconnect"}

    task = asyncio.create_task(app(scope, receive, stream.send))  # type: ignore[arg-type]
    try:
        yield stream
    finally:
        leave.set()
        async with asyncio.timeout(20):
            await task
