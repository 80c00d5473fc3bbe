"""WebSockets: who may open one, how refusals are sent, and when a connection must end.

Before it is open a refusal is an HTTP answer like any other; afterwards it is a message, and the end.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, cast

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from corral.api.callers import Caller, Need, authenticate, request_origin
from corral.api.problems import refusal_response
from corral.api.standing import drop
from corral.core.permissions import Permission
from corral.core.refusals import Refusal

LARGEST_MESSAGE = 1024 * 1024
_LAST_SECONDS = 1.0
REFUSED, GOING_AWAY = 1008, 1001

# Decides whether it may be opened, then opens and serves it.
Handler = Callable[[WebSocket, Caller], Awaitable[None]]


class Endpoint(Protocol):
    need: Need

    async def __call__(self, websocket: WebSocket) -> None: ...


def endpoint(handler: Handler, permission: Permission) -> Endpoint:
    """A handler as the router calls it; `permission` is also the scope that a token needs."""
    need = Need("permission", permission, (permission,))

    async def serve(websocket: WebSocket) -> None:
        try:
            caller = await authenticate(websocket)
            need.check_scope(caller)
            await handler(websocket, caller)
        except Refusal as refusal:
            await _refuse(websocket, refusal)
        except WebSocketDisconnect:
            pass  # the caller went away during a send

    served = cast("Endpoint", serve)
    served.need = need
    return served


async def tell(websocket: WebSocket, what: dict[str, Any]) -> None:
    await websocket.send_text(json.dumps(what))


async def until_first(*works: Coroutine[Any, Any, Any]) -> int:
    """Lets all of them work until one is done; its number. What it raised is raised, the others end."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        number = min(tasks.index(task) for task in done)
        tasks[number].result()
        return number
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _refuse(websocket: WebSocket, refusal: Refusal) -> None:
    request_id = request_origin(websocket).request_id
    answer = refusal_response(refusal, request_id)
    if websocket.application_state is WebSocketState.CONNECTING:
        await websocket.send_denial_response(answer)
        return
    with contextlib.suppress(TimeoutError):  # the other side is connected but does not read
        async with asyncio.timeout(_LAST_SECONDS):
            with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the other side may be gone
                await websocket.send_text(f'{{"problem": {bytes(answer.body).decode()}}}')
                await websocket.close(REFUSED)
        await asyncio.sleep(_LAST_SECONDS)  # to read that, and to close it from the other side
    await drop(websocket)
