"""Whether whoever holds a connection open may still do so: one watch for shells, ports, output and events.

It is woken when anything changes in who may do what, and when something that the caller holds ends by itself.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import HTTPConnection

from corral.api.callers import IDENTITY, ApiContext, Caller, authenticate
from corral.api.parts import part_of
from corral.core.refusals import Unavailable
from corral.store.database import Database

# In case a hint from another process gets lost.
CHECK_SECONDS = 30.0
# One change wakes all connections; they check within this time, not all at the same moment.
SPREAD_SECONDS = 1.0
# The extension of ASGI by which our server lets a connection be ended at once.
DROP = "corral.drop"

# Checks again whether this caller may be here; refuses if not.
Check = Callable[[Caller], Awaitable[object]]


async def while_allowed(connection: HTTPConnection, check: Check) -> None:
    """Returns when Corral stops; raises a refusal when the caller may not be here any more."""
    here = part_of(connection, ApiContext)
    database = here.database
    changed = asyncio.Event()
    unsubscribe = database.hints.subscribe(IDENTITY, changed.set)
    stopping = asyncio.ensure_future(here.stopping.wait())
    try:
        while True:
            changed.clear()
            # First at once: since it was let in, something may have changed that nobody waited for here.
            caller = await _still(connection, check)
            if await _waited(changed, stopping, _seconds(database, caller)):
                return
            if changed.is_set() and await _waited(asyncio.Event(), stopping, _spread()):
                return
    finally:
        unsubscribe()
        stopping.cancel()
        await asyncio.gather(stopping, return_exceptions=True)


async def drop(connection: HTTPConnection) -> None:
    """Ends the connection without waiting for a client that reads nothing, where the server can."""
    abort: Callable[[], None] | None = connection.scope.get("extensions", {}).get(DROP)
    if abort is not None:
        abort()
        for _ in range(3):  # until the server has heard that it is closed
            await asyncio.sleep(0)


async def _still(connection: HTTPConnection, check: Check) -> Caller:
    # An open connection is no sign of life: this must not keep an idle session from ending.
    connection.state.passive = True
    try:
        caller = await authenticate(connection)
        await check(caller)
    except SQLAlchemyError as error:
        raise Unavailable(
            "Corral cannot check right now whether you may stay connected.", "Reconnect in a few seconds."
        ) from error
    return caller


def _seconds(database: Database, caller: Caller) -> float:
    """Until the next end of something that the caller holds, or until a look in any case."""
    end = caller.next_end
    left = CHECK_SECONDS if end is None else (end - database.now()).total_seconds()
    return max(0.0, min(CHECK_SECONDS, left))


def _spread() -> float:
    return random.uniform(0.0, SPREAD_SECONDS)  # noqa: S311


async def _waited(changed: asyncio.Event, stopping: "asyncio.Future[Any]", seconds: float) -> bool:
    """Waits for a change, at most so long; whether Corral stops."""
    woken = asyncio.ensure_future(changed.wait())
    try:
        await asyncio.wait({woken, stopping}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        woken.cancel()
        await asyncio.gather(woken, return_exceptions=True)
    return stopping.done()
