"""Affinity of one replica: which nodes the terms allow, and which it prefers.

Replicas that are leaving still keep others waiting; they attract nobody any more.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from corral.core.workloads import AffinityKind
from corral.scheduling.placing.topology_domains import Levels, Mask
from corral.scheduling.state.affinity_counts import AffinityCounts, Count, Integers, Term
from corral.scheduling.state.slots import Slot


class AffinityView(NamedTuple):
    """For one replica: where it may go, what is unmet on each node, and where it has to wait."""

    allowed: Mask | None
    unmet: Integers | None
    waits: Mask | None


def affinity_view(
    slot: Slot, affinity_counts: AffinityCounts, levels: Levels, *, rehearsal: bool
) -> AffinityView:
    """What the neighbours mean for one replica, as the board stands."""
    allowed: Mask | None = None
    waits: Mask | None = None
    unmet: Integers | None = None
    own = affinity_counts.own.get(slot.request, [])
    for term, count in _apart(own, affinity_counts.about):
        level = levels.at(term.affinity.topology, term.affinity.level).of_node
        allowed = _both(allowed, _spread(count.here, level) == 0)
        if count.leaving.any():
            held_up = _spread(count.leaving, level) > 0
            waits = held_up if waits is None else waits | held_up
    for term in own:
        affinity = term.affinity
        if term.keeps_away:
            continue
        level = levels.at(affinity.topology, affinity.level).of_node
        near = _spread(term.members.here, level)
        if affinity.kind is AffinityKind.APART:
            unmet = _plus(unmet, affinity.weight * near)
        elif not affinity.required:
            unmet = _plus(unmet, affinity.weight * (near == 0))
        elif term.members.here.any() or term not in affinity_counts.about:
            # The first of those that want each other may begin anywhere.
            allowed = _both(allowed, near > 0)
    if waits is not None and not rehearsal:
        unmet = waits.astype(np.int64) if unmet is None else 2 * unmet + waits
    return AffinityView(allowed, unmet, waits)


def _apart(own: Iterable[Term], about: Iterable[Term]) -> Iterator[tuple[Term, Count]]:
    """Whom it keeps away, and who keeps it away."""
    for term in own:
        if term.keeps_away:
            yield term, term.members
    for term in about:
        if term.keeps_away:
            yield term, term.holders


def _spread(count: Integers, of_node: Integers) -> Integers:
    """Of each node, how many are in its domain; in no domain there is nobody."""
    inside = of_node >= 0
    sums = np.bincount(of_node[inside], weights=count[inside], minlength=int(of_node.max(initial=0)) + 1)
    spread: Integers = np.where(inside, sums.astype(np.int64)[of_node], 0)
    return spread


def _both(one: Mask | None, other: Mask) -> Mask:
    return other if one is None else one & other


def _plus(one: Integers | None, other: Integers) -> Integers:
    return other if one is None else one + other
