"""Commands to supervisors: they arrive, or whoever gave them hears why not."""

import asyncio
import time
from collections.abc import Mapping

from corral.core.refusals import Conflict, Unavailable
from corral.engines.local.attempts import KnownAttempt
from corral.engines.local.link import COMMAND_SECONDS, Link

_LINK_SECONDS = 5.0
_LINK_PAUSE_SECONDS = 0.02


async def command(known: KnownAttempt, do: str, indices: list[int], arguments: Mapping[str, object]) -> None:
    """For replicas of an attempt. One that has ended needs no command."""
    # One that hangs up in between has ended, or will be found again: commands can be repeated.
    for last_try in (False, True):
        link = await _linked(known)
        if link is None:
            return
        try:
            await link.command(do, {"replicas": indices, **arguments}, COMMAND_SECONDS)
        except Unavailable:
            if last_try:
                raise
        else:
            return


async def visit(run: str, place: tuple[KnownAttempt, int] | None, do: str, **arguments: object) -> list[int]:
    """Asks to be let into a run; returns the descriptors that come of it."""
    if place is not None:
        known, index = place
        link = await _linked(known)
        if link is not None and not known.replica_ended(index):
            _, descriptors = await link.command(do, {"replica": index, **arguments})
            return descriptors
    raise Conflict(f"{run} has ended: nothing runs in it.", "See what is running: corral ps")


async def _linked(known: KnownAttempt) -> Link | None:
    """The connection to its supervisor, as soon as there is one; None if it has ended meanwhile."""
    until = time.monotonic() + _LINK_SECONDS
    while (known.link is None or not known.link.open) and not known.ended:
        if time.monotonic() > until:
            raise Unavailable("The supervisor of this run does not answer.", "Try again in a moment.")
        await asyncio.sleep(_LINK_PAUSE_SECONDS)
    return None if known.ended else known.link
