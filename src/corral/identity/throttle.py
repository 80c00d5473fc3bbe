"""How often one may try: counted before the answer is known, so that parallel guesses count too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, insert, select, update

from corral.api.callers import Origin
from corral.core.refusals import TooMany
from corral.identity.tables import login_throttle
from corral.store.database import Database, Transaction

WINDOW = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class Bound:
    """At most `tries` per window under `key`."""

    key: str
    tries: int


def login_bounds(name: str, address: str) -> tuple[Bound, ...]:
    """One person from one place, one place for all names, one name from all places."""
    name = name.strip().lower()[:64]
    return (
        Bound(f"login:{name}@{address}", 10),
        Bound(f"login-address:{address}", 100),
        Bound(f"login-name:{name}", 200),
    )


def code_bounds(address: str) -> tuple[Bound, ...]:
    """Guessing invitations, login links and join codes from one place."""
    return (Bound(f"code:{address}", 60),)


def count_try(transaction: Transaction, bounds: tuple[Bound, ...]) -> int:
    """Counts one try and returns how many are left under the first bound; refuses when one is used up."""
    left = [_count(transaction, bound) for bound in bounds]
    return left[0]


def forgive(transaction: Transaction, bounds: tuple[Bound, ...]) -> None:
    """It was the right person: forgets the tries under the first bound, gives one back elsewhere."""
    transaction.run(delete(login_throttle).where(login_throttle.c.key == bounds[0].key))
    give_back(transaction, bounds[1:])


def give_back(transaction: Transaction, bounds: tuple[Bound, ...]) -> None:
    """Uncounts one try that was no guess, so that a class behind one address is not taken for an attack."""
    t = login_throttle.c
    for bound in bounds:
        transaction.run(
            update(login_throttle).where(t.key == bound.key, t.tries > 0).values(tries=t.tries - 1)
        )


@asynccontextmanager
async def counted(database: Database, origin: Origin) -> AsyncIterator[None]:
    """Around the use of a code: what fails stays counted against the place it came from."""
    bounds = code_bounds(origin.address)
    await database.write(count_try, bounds)
    yield
    await database.write(give_back, bounds)


def _count(transaction: Transaction, bound: Bound) -> int:
    t = login_throttle.c
    row = transaction.first(select(t.tries, t.window_ends_at).where(t.key == bound.key))
    if row is None or row.window_ends_at <= transaction.now:
        transaction.run(delete(login_throttle).where(t.key == bound.key))
        transaction.run(
            insert(login_throttle).values(key=bound.key, tries=1, window_ends_at=transaction.now + WINDOW)
        )
        return bound.tries - 1
    if row.tries >= bound.tries:
        seconds = max(1, int((row.window_ends_at - transaction.now).total_seconds()) + 1)
        raise TooMany(
            f"{bound.tries} tries were made; the next is possible in {-(-seconds // 60)} min.",
            "Wait, or ask an administrator for a login link.",
            facts={"retry_after_seconds": seconds},
            headers={"Retry-After": str(seconds)},
        )
    transaction.run(update(login_throttle).where(t.key == bound.key).values(tries=row.tries + 1))
    return bound.tries - int(row.tries) - 1
