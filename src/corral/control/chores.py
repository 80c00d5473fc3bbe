"""The first loops: what ends by itself is removed, and what was gathered in memory is written down."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import TypeVar

from corral.api.once import forget_old_answers
from corral.control.loop import Done, Loop
from corral.control.term import Term
from corral.events.retention import forget_old_events
from corral.identity import expiry
from corral.store.database import Database, Transaction
from corral.store.leadership import LeadershipLost

PERIOD_SECONDS = 60.0
FLUSH_SECONDS = 30.0
MOST_AT_ONCE = 500

T = TypeVar("T")

# Removes up to so many things, and returns how many it did.
Chore = Callable[[Transaction, int], int]


def chores_loop(database: Database, *, session_idle: timedelta, more: Sequence[Chore] = ()) -> Loop:
    """Removes what is past its time: one process at a time, every minute, in small transactions."""
    chores: list[Chore] = [
        partial(_end_sessions, session_idle),
        expiry.end_grants,
        expiry.end_invitations,
        expiry.forget_login_links,
        expiry.forget_login_tries,
        expiry.forget_tokens,
        forget_old_answers,
        forget_old_events,
        *more,
    ]
    return Loop("chores", database, partial(_do_all, database, chores), PERIOD_SECONDS)


def flush_loop(database: Database, flushes: Sequence[Callable[[], Awaitable[object]]]) -> Loop:
    """Writes down what each process gathers in memory, such as when sessions were last used."""

    async def turn(_term: Term) -> Done:
        _raise_all(await asyncio.gather(*(flush() for flush in flushes), return_exceptions=True))
        return Done(things=0)

    return Loop("flush", database, turn, FLUSH_SECONDS, exclusive=False)


async def _do_all(database: Database, chores: Sequence[Chore], term: Term) -> Done:
    # All are tried even if one fails: a bad row in one table must not keep sessions from ending.
    results: list[int | BaseException] = []
    for chore in chores:
        results += await asyncio.gather(database.write(_do, term, chore), return_exceptions=True)
    counts = _raise_all(results)
    return Done(things=sum(counts), more=any(count >= MOST_AT_ONCE for count in counts))


def _do(transaction: Transaction, term: Term, chore: Chore) -> int:
    term.check(transaction)
    return chore(transaction, MOST_AT_ONCE)


def _end_sessions(idle: timedelta, transaction: Transaction, most: int) -> int:
    return expiry.end_sessions(transaction, idle, most)


def _raise_all(results: Sequence[T | BaseException]) -> list[T]:
    """The results, or every failure among them at once."""
    failures = [one for one in results if isinstance(one, BaseException)]
    for one in failures:
        if isinstance(one, LeadershipLost) or not isinstance(one, Exception):
            raise one
    if failures:
        raise ExceptionGroup("some chores failed", [one for one in failures if isinstance(one, Exception)])
    return [one for one in results if not isinstance(one, BaseException)]
