"""Affinity: which nodes the neighbours of a workload allow, and which it likes.

Staying apart holds both ways: whoever carries such a term keeps those away that it is about. What is leaving
still keeps others waiting, and no longer draws anybody.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from corral.core.workloads import Affinity, AffinityKind
from corral.scheduling.requests import RequestClass, affinity_key
from corral.scheduling.slots import Phase, Slot
from corral.scheduling.ties import Count, Integers, Term, Ties
from corral.scheduling.topology import Levels, Mask
from corral.scheduling.work import WorkState

Item = tuple[str, str]


class View(NamedTuple):
    """For one replica: where it may go, what is unmet on each node, and where it has to wait."""

    allowed: Mask | None
    unmet: Integers | None
    waits: Mask | None


class Neighbours:
    """The terms of a pool's workloads, kept between cycles."""

    def __init__(self, nodes: int) -> None:
        self._nodes = nodes
        self._terms: dict[tuple[object, ...], Term] = {}
        # By one label each, so that only candidates are compared.
        self._terms_at: dict[Item, list[Term]] = {}
        self._works_at: dict[Item, dict[WorkState, None]] = {}

    def meet(self, work: WorkState) -> None:
        """Ties a workload that is about to come to the board."""
        if work.workload.labels:
            self._meet_by_labels(work)
        carriers = [slot.request for slot in work.slots if slot.request.affinity]
        for request in dict.fromkeys(carriers):
            for affinity in request.affinity:
                self._carry(work, request, affinity)

    def _meet_by_labels(self, work: WorkState) -> None:
        items = frozenset(work.workload.labels.items())
        for item in items:
            self._works_at.setdefault(item, {})[work] = None
        for term in self._known_about(items):
            _ties(work).about.append(term)

    def renumber(self, before: Integers) -> None:
        """`before` has the number that each node had, -1 for those that are new."""
        self._nodes = len(before)
        for term in self._terms.values():
            term.members.renumber(before)
            term.holders.renumber(before)

    def part(self, work: WorkState) -> None:
        """Unties a workload that has left the board."""
        for item in work.workload.labels.items():
            del self._works_at[item][work]
        if work.ties is None:
            return
        for term in {id(term): term for terms in work.ties.own.values() for term in terms}.values():
            term.carriers -= 1
            if not term.carriers:
                self._drop(term, work)
        work.ties = None

    def _known_about(self, items: frozenset[Item]) -> Iterator[Term]:
        for item in sorted(items):
            for term in self._terms_at.get(item, ()):
                if term.labels <= items:
                    yield term

    def _carry(self, work: WorkState, request: RequestClass, affinity: Affinity) -> None:
        key = (affinity_key(affinity), None if affinity.labels else work.name)
        term = self._terms.get(key)
        if term is None:
            term = self._terms[key] = Term(affinity, self._nodes)
            for other in self._members(term, work):
                _ties(other).about.append(term)
                if other is not work:
                    _count_in(other, term)
            if term.labels:
                self._terms_at.setdefault(min(term.labels), []).append(term)
        mine = _ties(work).own
        if not any(term in terms for terms in mine.values()):
            term.carriers += 1
        mine.setdefault(request, []).append(term)

    def _members(self, term: Term, carrier: WorkState) -> list[WorkState]:
        if not term.labels:
            return [carrier]
        works = self._works_at.get(min(term.labels), {})
        return [work for work in works if term.labels <= work.workload.labels.items()]

    def _drop(self, term: Term, carrier: WorkState) -> None:
        for other in self._members(term, carrier):
            if other.ties is not None and term in other.ties.about:
                other.ties.about.remove(term)
        if term.labels:
            self._terms_at[min(term.labels)].remove(term)
        del self._terms[affinity_key(term.affinity), None if term.labels else carrier.name]


def view_of(slot: Slot, ties: Ties, levels: Levels, *, rehearsal: bool) -> View:
    """What the neighbours mean for one replica, as the board stands."""
    allowed: Mask | None = None
    waits: Mask | None = None
    unmet: Integers | None = None
    own = ties.own.get(slot.request, [])
    for term, count in _apart(own, ties.about):
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
        elif term.members.here.any() or term not in ties.about:
            # The first of those that want each other may begin anywhere.
            allowed = _both(allowed, near > 0)
    if waits is not None and not rehearsal:
        unmet = waits.astype(np.int64) if unmet is None else 2 * unmet + waits
    return View(allowed, unmet, waits)


def _apart(own: Iterable[Term], about: Iterable[Term]) -> Iterator[tuple[Term, Count]]:
    """Whom it keeps away, and who keeps it away."""
    for term in own:
        if term.keeps_away:
            yield term, term.members
    for term in about:
        if term.keeps_away:
            yield term, term.holders


def _ties(work: WorkState) -> Ties:
    if work.ties is None:
        work.ties = Ties()
    return work.ties


def _count_in(work: WorkState, term: Term) -> None:
    """Counts what a workload holds already as members of a new term."""
    for slot in work.slots:
        if slot.base is not None:
            leaves = slot.base_phase is Phase.RELEASING
            count = term.members.leaving if leaves else term.members.here
            count[slot.base.node] += 1


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
