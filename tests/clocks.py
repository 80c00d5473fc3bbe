"""Time that tests can move."""

from datetime import UTC, datetime, timedelta


class ShiftedClock:
    """The real time plus what the test added to it."""

    def __init__(self) -> None:
        self._shift = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._shift

    def advance(self, **amount: float) -> None:
        """Takes the words of timedelta: `advance(hours=2, seconds=1)`."""
        self._shift += timedelta(**amount)
