"""Checks of topologies: that levels are named once, and that requests name levels that are there."""

from collections.abc import Iterator

from corral.core.nodes import NODE_LEVEL, Topology
from corral.core.refusals import FieldError
from corral.core.workloads import Request, TopologyRequest, Workload
from corral.scheduling.validate.check_helpers import numbered
from corral.scheduling.validate.snapshot import Snapshot

MOST_WEIGHT = 100


def check_levels(place: str, topology: Topology) -> Iterator[FieldError]:
    """Of a topology of a pool."""
    if not topology.levels:
        yield FieldError(f"{place}.levels", "There is no level.", "Name label keys, the widest first.")
    for index, level in enumerate(topology.levels):
        at = f"{place}.levels[{index}]"
        if level == NODE_LEVEL:
            yield FieldError(at, f"{NODE_LEVEL!r} is always the last level.", "Leave it out.")
        elif level in topology.levels[:index]:
            yield FieldError(at, f"{level!r} is named twice.", "Name each level once.")


class TopologyChecker:
    """Checks what workloads ask of the topologies of their pools."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._pools = {
            pool.name: {topology.name: topology for topology in pool.topologies} for pool in snapshot.pools
        }

    def check(self, place: str, request: TopologyRequest | None, workload: Workload) -> Iterator[FieldError]:
        if request is None:
            return
        if request.required is None and request.preferred is None:
            yield FieldError(place, "No level is asked for.", "Name a required or a preferred level.")
        for pool in workload.pools or self._pools:
            topology = self._pools.get(pool, {}).get(request.topology)
            if topology is None:
                yield FieldError(
                    f"{place}.topology",
                    f"The pool {pool!r} has no topology {request.topology!r}.",
                    "Name a topology of every pool in which it may run.",
                )
            else:
                yield from _levels(place, request, topology)

    def check_affinity(self, place: str, request: Request, workload: Workload) -> Iterator[FieldError]:
        """Levels that are there in every pool of the workload; that of single nodes always is."""
        for at, affinity in numbered(f"{place}.affinity", request.affinity):
            if affinity.weight < 1 or affinity.weight > MOST_WEIGHT:
                yield FieldError(
                    f"{at}.weight", f"It is not between 1 and {MOST_WEIGHT}.", f"Use 1 to {MOST_WEIGHT}."
                )
            if affinity.level == NODE_LEVEL:
                continue
            for pool in workload.pools or self._pools:
                topology = self._pools.get(pool, {}).get(affinity.topology or "")
                if topology is None:
                    yield FieldError(
                        f"{at}.topology",
                        f"The pool {pool!r} has no topology {affinity.topology!r}.",
                        "Name a topology of every pool in which it may run.",
                    )
                elif affinity.level not in topology.levels:
                    remedy = f"Use one of {', '.join((*topology.levels, NODE_LEVEL))}."
                    yield FieldError(
                        f"{at}.level",
                        f"{topology.name!r} has no level {affinity.level!r}.",
                        remedy,
                    )


def _levels(place: str, request: TopologyRequest, topology: Topology) -> Iterator[FieldError]:
    order = [*topology.levels, NODE_LEVEL]
    remedy = f"Use one of {', '.join(order)}."
    for field, level in (("required", request.required), ("preferred", request.preferred)):
        if level is not None and level not in order:
            yield FieldError(f"{place}.{field}", f"{topology.name!r} has no level {level!r}.", remedy)
            return
    required, preferred = request.required, request.preferred
    if required and preferred and order.index(preferred) < order.index(required):
        yield FieldError(
            f"{place}.preferred",
            f"The preferred level {preferred!r} is wider than the required {required!r}.",
            "Prefer a tighter level than is required.",
        )
