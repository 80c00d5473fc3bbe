"""What a turn holds while it runs: the right to act, and until when."""

from corral.control import leases
from corral.control.leases import Lease, LeaseLost
from corral.control.timing import Timing
from corral.store.database import Transaction


class Term:
    """A time under one lease. Loops that need none (their work is this process's own) have an endless one."""

    def __init__(self, name: str, lease: Lease | None, deadline: float, timing: Timing) -> None:
        self._name = name
        self._lease = lease
        self._timing = timing
        self.deadline = deadline  # on the loop's clock; renewals move it on

    @property
    def epoch(self) -> int:
        """Grows with every change of holder; belongs into what the outside keeps about us."""
        return self._lease.epoch if self._lease else 0

    def check(self, transaction: Transaction) -> None:
        """First thing in a transaction that writes: refuses if another process took over."""
        if self._lease is not None:
            leases.check(transaction, self._lease)

    def check_deadline(self, needed_seconds: float = 0.0) -> None:
        """Before an outside call that takes up to `needed_seconds`: refuses if the lease may end first."""
        left = self.deadline - self._timing.now()
        if left < needed_seconds:
            raise LeaseLost(f"{self._name}: {left:.1f} s of the lease left, {needed_seconds:.1f} s needed")
