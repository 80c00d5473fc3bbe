"""What a queue lends and borrows, from what it is guaranteed and holds."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Share:
    """Of one resource of one pool."""

    guarantee: int = 0
    fair_share: int = 0
    allocated: int = 0
    wanted: int = 0
    lent: int = 0
    borrowed: int = 0


def lent_and_borrowed(shares: Mapping[str, Share], parents: Mapping[str, str | None]) -> dict[str, Share]:
    """Borrowed is what a queue holds beyond its guarantee.

    What siblings have borrowed comes first from guarantees beside them that are not used, in proportion to
    how much of each is not used.
    """
    found: dict[str, Share] = {}
    groups: dict[str | None, list[str]] = {}
    for name in shares:
        groups.setdefault(parents.get(name), []).append(name)
    for names in groups.values():
        borrowed = {name: max(0, shares[name].allocated - shares[name].guarantee) for name in names}
        unused = {name: max(0, shares[name].guarantee - shares[name].allocated) for name in names}
        total_unused = sum(unused.values())
        lent = min(sum(borrowed.values()), total_unused)
        for name in names:
            one = shares[name]
            found[name] = Share(
                one.guarantee,
                one.fair_share,
                one.allocated,
                one.wanted,
                unused[name] * lent // total_unused if total_unused else 0,
                borrowed[name],
            )
    return found
