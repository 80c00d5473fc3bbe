"""When a loop takes its next turn. Pure: times come in as numbers, nothing waits here."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pace:
    """Next turn at a hint, or after `period_seconds` anyway; later and later while turns fail."""

    period_seconds: float
    # Between turns that hints cause: a burst becomes one turn, and a loop that wakes itself does not spin.
    rest_seconds: float = 0.05
    # A turn that says "more" is repeated at once so many times, then others get their share for a breath.
    most_in_a_row: int = 20
    breath_seconds: float = 1.0
    first_delay_seconds: float = 1.0
    longest_delay_seconds: float = 60.0
    chance: Callable[[], float] = random.random
    failures: int = 0
    _in_a_row: int = 0
    _with_hint: float = field(default=0.0)
    _without_hint: float = field(default=0.0)

    def due(self, *, hinted: bool) -> float:
        """When the next turn starts."""
        return self._with_hint if hinted else self._without_hint

    def begin(self, now: float) -> None:
        """A new term: look at once."""
        self._in_a_row = 0
        self._with_hint = self._without_hint = now

    def succeeded(self, now: float, *, more: bool) -> None:
        self.failures = 0
        self._in_a_row = self._in_a_row + 1 if more else 0
        if not more:
            self._with_hint = now + self.rest_seconds
            self._without_hint = now + self.period_seconds
        elif self._in_a_row < self.most_in_a_row:
            self._with_hint = self._without_hint = now
        else:
            self._in_a_row = 0
            self._with_hint = self._without_hint = now + self.breath_seconds

    def failed(self, now: float) -> float:
        """Returns how long the loop backs off; hints do not shorten it, or a storm of them would undo it."""
        self.failures += 1
        self._in_a_row = 0
        # The exponent is bounded so that a week of failures does not overflow.
        delay = min(self.longest_delay_seconds, self.first_delay_seconds * 2.0 ** min(self.failures - 1, 30))
        delay *= 0.5 + self.chance() / 2
        self._with_hint = self._without_hint = now + delay
        return delay
