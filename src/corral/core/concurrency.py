"""How much of something one person may hold open at a time: waits, streams, connections."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from corral.core.refusals import Refusal


class TooManyOpen(Refusal):
    slug, title, status = "too-many-open", "Too many are open at once", 429


class ConcurrencyLimit:
    """So many for each person, in this process. `what` names them in the plural, `who` says who has them."""

    def __init__(self, most: int, what: str, remedy: str, *, who: str = "You have") -> None:
        self._most = most
        self._what = what
        self._remedy = remedy
        self._who = who
        self._taken: Counter[str] = Counter()

    @contextmanager
    def taken(self, user_id: str) -> Iterator[None]:
        """A place for the length of the block, or a refusal."""
        if self._taken[user_id] >= self._most:
            raise TooManyOpen(
                f"{self._who} {self._most} {self._what} open, which is the limit.",
                self._remedy,
                headers={"Retry-After": "5"},
            )
        self._taken[user_id] += 1
        try:
            yield
        finally:
            self._taken[user_id] -= 1
            if not self._taken[user_id]:
                del self._taken[user_id]
