"""Starts loops and stops them in order."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import structlog

from corral.control.loop import Loop

log = structlog.get_logger(__name__)


@asynccontextmanager
async def running(loops: Sequence[Loop], grace_seconds: float = 10.0) -> AsyncIterator[None]:
    """Runs the loops inside the block; afterwards their current turns get `grace_seconds` to finish."""
    tasks = {asyncio.create_task(loop.run(), name=f"loop {loop.name}") for loop in loops}
    try:
        yield
    finally:
        for loop in loops:
            loop.stop()
        ended, late = await asyncio.wait(tasks, timeout=grace_seconds) if tasks else (set(), set())
        for task in late:
            log.warning("a loop is cut off in the middle of a turn", task=task.get_name())
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        for task in ended:
            task.result()  # a loop does not fail; if one did, nobody should miss it
