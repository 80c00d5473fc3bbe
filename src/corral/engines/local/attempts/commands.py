"""Commands to supervisors: they arrive, or whoever gave them hears why not."""

import asyncio
import time
from collections.abc import Mapping

from corral.core.refusals import Conflict, Unavailable
from corral.engines.local.attempts.attempt import TrackedAttempt
from corral.engines.local.attempts.supervisor_client import COMMAND_SECONDS, Link

_LINK_SECONDS = 5.0
_LINK_PAUSE_SECONDS = 0.02


async def command(
    attempt: TrackedAttempt, do: str, indices: list[int], arguments: Mapping[str, object]
) -> None:
    """For replicas of an attempt. One that has ended needs no command."""
    # One that hangs up in between has ended, or will be found again: commands can be repeated.
    for last_try in (False, True):
        link = await _linked(attempt)
        if link is None:
            return
        try:
            await link.command(do, {"replicas": indices, **arguments}, COMMAND_SECONDS)
        except Unavailable:
            if last_try:
                raise
        else:
            return


async def open_session(
    run: str, place: tuple[TrackedAttempt, int] | None, do: str, **arguments: object
) -> list[int]:
    """Asks to be let into a run; returns the descriptors that come of it."""
    if place is not None:
        attempt, index = place
        link = await _linked(attempt)
        if link is not None and not attempt.replica_ended(index):
            _, descriptors = await link.command(do, {"replica": index, **arguments})
            return descriptors
    raise Conflict(f"{run} has ended: nothing runs in it.", "See what is running: corral ps")


async def _linked(attempt: TrackedAttempt) -> Link | None:
    """The connection to its supervisor, as soon as there is one; None if it has ended meanwhile."""
    until = time.monotonic() + _LINK_SECONDS
    while (attempt.link is None or not attempt.link.open) and not attempt.ended:
        if time.monotonic() > until:
            raise Unavailable("The supervisor of this run does not answer.", "Try again in a moment.")
        await asyncio.sleep(_LINK_PAUSE_SECONDS)
    return None if attempt.ended else attempt.link
