"""Claims: what the last cycle promised or reserved for work that waits."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A promise of the last cycle, or with `at` a reservation.

    It gives no precedence: it is renewed, or dropped with a reason.
    """

    workload: str
    replica: str
    node: str
    at: int | None = None
