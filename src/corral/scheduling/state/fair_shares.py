"""Divide: how much of one resource each queue of a group of siblings may call its own.

Guarantees first; then surplus, by priority and weight, in rounds; then what rounding left, one unit
each, and the last one what is left of a unit. Integers throughout: an offer is `surplus * s / sum(s)` on a
common denominator.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

INFINITE = 1 << 62
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Claimant:
    """A queue as division sees it; `demand` is what it holds plus what it waits for."""

    name: str
    demand: int
    guarantee: int
    limit: int = INFINITE
    weight: int = 1
    priority: int = 0
    created: int = 0
    fixed: bool = False
    usage_ppm: int = 0

    @property
    def wanted(self) -> int:
        return min(self.limit, self.demand)


def divide(total: int, claimants: Sequence[Claimant], *, unit: int = 1, history_milli: int = 0) -> list[int]:
    """The fair share of each claimant, in their order.

    `history_milli` is k in thousandths: how strongly recent usage turns the weights.
    """
    shares = [min(each.guarantee, each.wanted) for each in claimants]
    surplus = max(0, total - sum(map(_kept, claimants, shares)))
    hungry = [
        index
        for index, each in enumerate(claimants)
        if not each.fixed and each.weight > 0 and each.wanted > shares[index]
    ]
    hungry.sort(key=lambda index: -claimants[index].priority)
    in_line: list[int] = []
    for _, bucket in groupby(hungry, key=lambda index: claimants[index].priority):
        surplus = _divide_bucket(surplus, claimants, list(bucket), shares, unit, history_milli, in_line)
    for index in in_line:
        share = min(surplus, claimants[index].wanted - shares[index])
        shares[index] += share
        surplus -= share
    return shares


def _kept(claimant: Claimant, share: int) -> int:
    """What a fixed queue does not use of its guarantee stays its own."""
    return claimant.guarantee if claimant.fixed and claimant.guarantee < INFINITE else share


def _divide_bucket(
    surplus: int,
    claimants: Sequence[Claimant],
    hungry: list[int],
    shares: list[int],
    unit: int,
    history_milli: int,
    in_line: list[int],
) -> int:
    """Gives surplus to the claimants of one priority; returns what they do not want, or not in whole units.

    Who would take less than a unit, should it be left at the end, is put `in_line`.
    """
    while surplus > 0 and hungry:
        strengths = _strengths([claimants[index] for index in hungry], history_milli)
        whole = sum(strengths)
        if whole == 0:
            break
        remainders: dict[int, int] = {}
        satisfied = False
        total = 0
        for index, strength in zip(hungry, strengths, strict=True):
            missing = claimants[index].wanted - shares[index]
            if missing * whole <= surplus * strength:
                share, satisfied = missing, True
            else:
                share = surplus * strength // (whole * unit) * unit
                # Of the offer, in parts of `whole`: only compared, never given.
                remainders[index] = surplus * strength - share * whole
            shares[index] += share
            total += share
        surplus -= total
        hungry = [index for index in hungry if index in remainders]
        if not satisfied:
            return _give_leftovers(surplus, claimants, remainders, shares, unit, in_line)
    return surplus


def _strengths(claimants: Sequence[Claimant], history_milli: int) -> list[int]:
    """`max(0, n + k·(n - u))` of each, times a common denominator."""
    weights = sum(each.weight for each in claimants)
    return [
        max(0, each.weight * _MILLION * (1000 + history_milli) - each.usage_ppm * weights * history_milli)
        for each in claimants
    ]


def _give_leftovers(
    surplus: int,
    claimants: Sequence[Claimant],
    remainders: dict[int, int],
    shares: list[int],
    unit: int,
    in_line: list[int],
) -> int:
    def turn(index: int) -> tuple[int, int, str]:
        return -remainders[index], claimants[index].created, claimants[index].name

    # Who has no remainder is last, and gets nothing: the others want at least theirs, which are all there is.
    for index in sorted(remainders, key=turn):
        if surplus < unit:
            in_line.append(index)
            continue
        share = min(unit, claimants[index].wanted - shares[index])
        shares[index] += share
        surplus -= share
    return surplus
