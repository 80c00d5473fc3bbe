"""How often one may try: counted before the answer is known, so that parallel guesses count too.

No count that strangers share refuses anyone: else whoever makes many wrong tries locks out everybody behind
the same address, which behind a tunnel or a campus' NAT is everybody. docs/security.md has the reasoning.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import delete, insert, select, update

from corral.api.callers import Origin
from corral.core.refusals import LoginFailed, NotFound, TooMany
from corral.identity.tables import login_throttle
from corral.store.database import Database, Transaction

WINDOW = timedelta(minutes=15)
DAY = timedelta(days=1)
# So many wrong tries from one address are no class that signs in: each name has fewer from there.
CALM = 100


@dataclass(frozen=True, slots=True)
class Bound:
    """At most `tries` per window under `key`."""

    key: str
    tries: int
    window: timedelta = WINDOW


def address_count(address: str) -> Bound:
    """Wrong tries from one place for all names: makes it hot, and refuses nobody."""
    return Bound(f"login-address:{address}", 1_000_000)


def login_bounds(name: str, address: str, *, hot: bool = False) -> tuple[Bound, ...]:
    """One person from one place, also over a day, and one person from all places."""
    name = name.strip().lower()[:64]
    return (
        Bound(f"login:{name}@{address}", 3 if hot else 10),
        Bound(f"login-day:{name}@{address}", 50, DAY),
        Bound(f"login-name:{name}", 200),
    )


def device_bounds(device: str) -> tuple[Bound, ...]:
    """A device that was good before: others' tries do not count here, nor its own for others."""
    return (Bound(f"login-device:{device}", 10),)


def password_bounds(user_id: str) -> tuple[Bound, ...]:
    """Who is signed in and says the current password; a session that was left open is no way to guess it."""
    return (Bound(f"password:{user_id}", 10),)


def code_bounds(address: str) -> tuple[Bound, ...]:
    """Guessing invitations, login links and join codes from one place."""
    return (Bound(f"code:{address}", 60),)


def sign_up_bounds(address: str) -> tuple[Bound, ...]:
    """Asking for accounts from one place."""
    return (Bound(f"sign-up:{address}", 60),)


def failure_bounds() -> tuple[Bound, ...]:
    """Wrong logins that the audit log keeps, of everyone together: what is beyond says nothing new."""
    return (Bound("login-failures", 1_000),)


def is_hot(transaction: Transaction, address: str) -> bool:
    """Counts a stranger's try from the address; whether there were too many for people who mistype."""
    bound = address_count(address)
    return bound.tries - count_try(transaction, (bound,)) > CALM


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
    """Around the use of a code: one that is right works, whatever others tried; wrong ones are counted.

    That is no way to guess: a link has 256 bits, and of 27^10 join codes a year of a thousand tries a second
    finds a given one with a chance of 1 in 6,500.
    """
    try:
        yield
    except (NotFound, LoginFailed):
        await database.write(count_try, code_bounds(origin.address))
        raise


def _count(transaction: Transaction, bound: Bound) -> int:
    t = login_throttle.c
    row = transaction.first(select(t.tries, t.window_ends_at).where(t.key == bound.key))
    if row is None or row.window_ends_at <= transaction.now:
        transaction.run(delete(login_throttle).where(t.key == bound.key))
        ends_at = transaction.now + bound.window
        transaction.run(insert(login_throttle).values(key=bound.key, tries=1, window_ends_at=ends_at))
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
