"""Claims: what the last cycle promised to work that waits for a release."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Claim:
    """A promise of the last cycle. It gives no precedence: it is renewed, or dropped with a reason."""

    workload: str
    replica: str
    node: str
