"""What replicas wrote: found, read, masked, waited for.

Offsets count every byte that a replica ever wrote, also those that are no longer kept. What is handed out
ends with a whole character, and never in the middle of a secret.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial

from sqlalchemy import select

from corral.api.callers import Caller
from corral.api.patience import Patience
from corral.core.refusals import NotFound
from corral.core.runs import RunId
from corral.engines.interface import Reach
from corral.store.database import Database, Transaction
from corral.workloads import visibility
from corral.workloads.context import Masks
from corral.workloads.documents import Document
from corral.workloads.machine import Phase
from corral.workloads.masker import Masker, part_limit
from corral.workloads.masking import masked, reach, unfinished_character, unfinished_secret
from corral.workloads.states import OVER
from corral.workloads.steps import TOPIC
from corral.workloads.tables import replica

_LOOK_AGAIN_SECONDS = 5.0
_PIECE = 256 * 1024
# Where a tail begins is known to this many bytes.
_GRAIN = 4096


@dataclass(frozen=True, slots=True)
class Place:
    """A replica of an attempt. Without a `run`, nothing of it has begun; `ended` says that all is over."""

    workload_id: str
    attempt: int
    number: int
    run: str | None
    ended: bool
    secrets: tuple[bytes, ...] = ()
    reader: str = ""  # who looks at it


@dataclass(frozen=True, slots=True)
class Part:
    """Output from `offset` to `next`; `seen` is how far there was anything when it was read."""

    data: bytes
    offset: int
    next: int
    seen: int
    dropped: int = 0
    ended: bool = False


def find_place(
    transaction: Transaction,
    caller: Caller,
    masks: Masks,
    workload_id: str,
    attempt: int | None,
    number: int,
) -> Place:
    """Where the output of a replica is; of the last attempt without a number for it."""
    row = visibility.find(transaction, caller, workload_id).row
    replicas = row.stored.read(Document).replicas
    if number >= replicas:
        raise NotFound(f"It has no replica {number}.", f"Its replicas are 0 to {replicas - 1}; choose one.")
    over = row.state in OVER
    chosen = row.attempt if attempt is None else attempt
    if chosen > row.attempt and over:
        raise NotFound(
            f"There was no attempt {chosen}.",
            f"It had {row.attempt}; leave the number out for the last one."
            if row.attempt
            else "It ended before its first attempt.",
        )
    if chosen == 0 or chosen > row.attempt:
        return Place(workload_id, chosen, number, None, over)
    one = transaction.first(
        select(replica.c.phase).where(
            replica.c.workload_id == workload_id, replica.c.attempt == chosen, replica.c.number == number
        )
    )
    assert one is not None, "an attempt has all its replicas"
    run = None if one.phase == Phase.GRANTED else str(RunId(workload_id, chosen, number))
    secrets = tuple(masks(transaction, row))
    return Place(workload_id, chosen, number, run, one.phase == Phase.ENDED, secrets, caller.user_id)


async def read_part(engine: Reach, masker: Masker, place: Place, after: int, limit: int) -> Part:
    """At most `limit` bytes from `after` on, as they may be shown."""
    if place.run is None:
        return Part(b"", after, after, after, ended=place.ended)
    limit, margin = part_limit(limit, len(place.secrets)), reach(place.secrets)
    try:
        chunk = await engine.logs(place.run, after, limit + margin)
        before = b""
        if margin and after and chunk.data and chunk.offset == after:
            earlier = await engine.logs(place.run, max(0, after - margin), min(margin, after))
            before = earlier.data if earlier.next == after else b""
        last = chunk.ended
        if place.ended and not last:
            # A replica that was lost could not say that it wrote no more.
            last = not (await engine.logs(place.run, chunk.next, 1)).data
    except NotFound:
        # It has not begun there yet, or nothing of it is kept any more.
        return Part(b"", after, after, after, ended=place.ended)
    data = chunk.data
    show = partial(_shown, before, data, place.secrets, limit, last=last)
    shown, usable = await masker.run(place.reader, show) if place.secrets else show()
    if not usable and data and await _is_gap(engine, place.run, chunk.next):
        usable = len(data)  # the rest of it was not kept
    return Part(
        shown[:usable],
        chunk.offset,
        chunk.offset + usable,
        chunk.next,
        chunk.dropped,
        ended=last and usable == len(data),
    )


def _shown(
    before: bytes, data: bytes, secrets: Sequence[bytes], limit: int, *, last: bool
) -> tuple[bytes, int]:
    """The data masked, and how many bytes of it may be handed out now."""
    usable = min(len(data), limit)
    if not last:
        usable = min(usable, len(data) - unfinished_secret(before + data, secrets))
    shown = masked(before + data, secrets)[len(before) :]
    if usable < len(data) or not last:
        usable -= unfinished_character(shown[:usable])
    return shown, usable


async def wait_for_part(
    database: Database,
    engine: Reach,
    masker: Masker,
    find: Callable[[], Awaitable[Place]],
    after: int,
    limit: int,
    patience: Patience,
) -> tuple[Place, Part]:
    """The next part, as soon as there is more or nothing more will come."""
    while True:
        place = await find()
        part = await read_part(engine, masker, place, after, limit)
        if part.next > after or part.ended or not patience.left:
            return place, part
        await patience.wait_for(_news(database, engine, place.run, part.seen), _LOOK_AGAIN_SECONDS)


async def tail_offset(engine: Reach, place: Place, size: int) -> int:
    """An offset from which on there are at least `size` bytes, and few more; 0 if there are less."""
    run = place.run
    if run is None:
        return 0

    async def is_within(offset: int) -> bool:
        return bool((await engine.logs(run, offset, 1)).data)

    try:
        low, high = 0, size
        while await is_within(high):
            low, high = high, high * 2
        while high - low > _GRAIN:
            middle = (low + high) // 2
            low, high = (middle, high) if await is_within(middle) else (low, middle)
    except NotFound:
        return 0
    return max(0, low - size)


async def everything(engine: Reach, masker: Masker, place: Place) -> AsyncIterator[bytes]:
    """All that is kept until now; what is not kept is said where it was."""
    after = 0
    while True:
        part = await read_part(engine, masker, place, after, _PIECE)
        if part.dropped:
            yield f"\n[{part.dropped} bytes that were here are not kept]\n".encode()
        if part.data:
            yield part.data
        if part.ended or part.next == after:
            return
        after = part.next


async def _is_gap(engine: Reach, run: str, offset: int) -> bool:
    following = await engine.logs(run, offset, 1)
    return bool(following.data) and following.offset > offset


async def _news(database: Database, engine: Reach, run: str | None, position: int) -> None:
    if run is not None:
        try:
            async with aclosing(engine.follow(run, position)) as following:  # type: ignore[type-var]
                async for _ in following:
                    return
        except NotFound:
            pass  # the engine has not begun with it; the database hears of it when it has
        else:
            return
    changed = asyncio.Event()
    stop = database.hints.subscribe(TOPIC, changed.set)
    try:
        await changed.wait()
    finally:
        stop()
