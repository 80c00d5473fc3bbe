"""Counters that only grow become rates: how much in a second, between two readings."""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

# Over a longer time a mean says nothing of the moment it is shown at.
LONGEST_US = 5 * 60 * 1_000_000


class Count(NamedTuple):
    """A counter's value at a moment of a clock that is never set."""

    at_us: int
    value: int


def rate(before: Count, after: Count, per_us: int = 1_000_000) -> int | None:
    """The growth in `per_us` microseconds; None where two readings do not tell it.

    A counter that is smaller than before began anew in between: it has grown by what it has now, at least.
    """
    elapsed_us = after.at_us - before.at_us
    if not 0 < elapsed_us <= LONGEST_US:
        return None
    grown = after.value - before.value if after.value >= before.value else after.value
    return grown * per_us // elapsed_us


@dataclass(slots=True)
class Rates:
    """Remembers the last reading of each counter."""

    _last: dict[Hashable, Count] = field(default_factory=dict)

    def next(self, counter: Hashable, at_us: int, value: int, per_us: int = 1_000_000) -> int | None:
        """The rate since the last reading of this counter, None for the first."""
        before, after = self._last.get(counter), Count(at_us, value)
        self._last[counter] = after
        return None if before is None else rate(before, after, per_us)

    def forget_before(self, at_us: int) -> None:
        """Counters that were not read since are gone."""
        self._last = {key: one for key, one in self._last.items() if one.at_us >= at_us}
