"""Affinity: which terms of a pool's workloads concern each other, kept between cycles.

Anti-affinity holds both ways: a workload with such a term keeps the matching workloads away, and they keep
it away.
"""

from collections.abc import Iterator

from corral.core.workloads import Affinity
from corral.scheduling.state.affinity_counts import AffinityCounts, Integers, Term
from corral.scheduling.state.request_classes import RequestClass, affinity_key
from corral.scheduling.state.slots import Phase
from corral.scheduling.state.workload_state import WorkState

Item = tuple[str, str]


class AffinityIndex:
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
            _counts_of(work).about.append(term)

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
        if work.affinity_counts is None:
            return
        for term in {
            id(term): term for terms in work.affinity_counts.own.values() for term in terms
        }.values():
            term.carriers -= 1
            if not term.carriers:
                self._drop(term, work)
        work.affinity_counts = None

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
                _counts_of(other).about.append(term)
                if other is not work:
                    _count_in(other, term)
            if term.labels:
                self._terms_at.setdefault(min(term.labels), []).append(term)
        mine = _counts_of(work).own
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
            if other.affinity_counts is not None and term in other.affinity_counts.about:
                other.affinity_counts.about.remove(term)
        if term.labels:
            self._terms_at[min(term.labels)].remove(term)
        del self._terms[affinity_key(term.affinity), None if term.labels else carrier.name]


def _counts_of(work: WorkState) -> AffinityCounts:
    if work.affinity_counts is None:
        work.affinity_counts = AffinityCounts()
    return work.affinity_counts


def _count_in(work: WorkState, term: Term) -> None:
    """Counts what a workload holds already as members of a new term."""
    for slot in work.slots:
        if slot.base is not None:
            leaves = slot.base_phase is Phase.RELEASING
            count = term.members.leaving if leaves else term.members.here
            count[slot.base.node] += 1
