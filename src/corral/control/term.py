"""What a turn holds while it runs: the right to act, and until when."""

from corral.control.timing import Timing
from corral.store import leadership
from corral.store.database import Transaction
from corral.store.leadership import Leadership, LeadershipLost


class Term:
    """A time under one leadership. Loops that need none (each process runs its own) have an endless one."""

    def __init__(self, name: str, acquired: Leadership | None, deadline: float, timing: Timing) -> None:
        self._name = name
        self._leadership = acquired
        self._timing = timing
        self.deadline = deadline  # on the loop's clock; renewals move it on

    @property
    def epoch(self) -> int:
        """Grows with every change of holder; belongs into what the outside keeps about us."""
        return self._leadership.epoch if self._leadership else 0

    def check(self, transaction: Transaction) -> None:
        """First thing in a transaction that writes: refuses if another process took over."""
        if self._leadership is not None:
            leadership.check(transaction, self._leadership)

    def check_deadline(self, needed_seconds: float = 0.0) -> None:
        """Before an outside call of up to `needed_seconds`: refuses if the leadership may end first."""
        left = self.deadline - self._timing.now()
        if left < needed_seconds:
            raise LeadershipLost(
                f"{self._name}: {left:.1f} s of the leadership left, {needed_seconds:.1f} s needed"
            )
