"""Many workloads in one transaction, and what fails for one of them fails for it alone.

At first everything is written together, as that costs nothing. Only if that raises is it done again with each
workload in a savepoint of its own, so that those that fail are known and the others are written.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec

from corral.control.troubles import Key
from corral.core.steps import Step
from corral.store.database import Transaction, concerns_everybody
from corral.store.leadership import LeadershipLost

P = ParamSpec("P")


@dataclass(slots=True)
class Apart:
    """`skipped` are left alone. `failed` has what those raised that were undone; only with `careful`."""

    skipped: Mapping[Key, object] = field(default_factory=dict)
    careful: bool = False
    failed: dict[Key, Exception] = field(default_factory=dict)

    def do(
        self,
        transaction: Transaction,
        key: Key,
        work: Callable[Concatenate[Transaction, P], object],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> None:
        """A workload whose records are in trouble is left alone altogether."""
        workload_id, _ = key
        if {key, (workload_id, Step.RECORD)} & (self.skipped.keys() | self.failed.keys()):
            return
        if not self.careful:
            work(transaction, *args, **kwargs)
            return
        try:
            with transaction.apart():
                work(transaction, *args, **kwargs)
        except Exception as error:
            if not is_of_one(error):
                raise
            self.failed[key] = error


def is_of_one(error: Exception) -> bool:
    """Whether an error can be that of a single workload: not of the leadership, and not of the database."""
    return not isinstance(error, LeadershipLost) and not concerns_everybody(error)
