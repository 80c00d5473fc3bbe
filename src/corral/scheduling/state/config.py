"""Settings of the scheduler that belong to no pool and no queue."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Config:
    """`history_milli` is k of the division, in thousandths: how strongly recent usage turns the weights.

    `search_trials` bounds how many sets of victims are tried for one taker; a plan says where it ran out.
    """

    history_milli: int = 0
    search_trials: int = 2000
