"""Explain: the reasons of a plan in words, with their numbers, and what would help."""

from collections.abc import Iterator
from dataclasses import dataclass

from corral.core.plans import Reason, ReasonKind, SearchResult, Unplaced
from corral.core.resources import Resource

_CHECKS = {
    "labels": "labels, taints or the named nodes do not allow it",
    "device_kind": "the node lacks devices of that model, size or mode",
    "pods": "the node runs as many pods as it may",
    "cpu": "too little CPU is left",
    "memory": "too little memory is left",
    "devices": "too few devices have room",
}
_ENDS = {
    SearchResult.NOT_ALLOWED: "its queue may not take anything",
    SearchResult.IMPOSSIBLE: "no set of workloads that may lose something makes room",
    SearchResult.OUT_OF_BUDGET: "the search ended before every set was tried",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    why: str
    details: tuple[str, ...]
    remedy: str


def explain(unplaced: Unplaced) -> Explanation:
    """Why a workload waits and the change that would let its next replicas pass that rule."""
    return Explanation(sentence(unplaced.reason), tuple(_details(unplaced)), _remedy(unplaced.reason))


def sentence(reason: Reason) -> str:
    """The rule that stopped a workload, with the numbers that decided."""
    if reason.kind is ReasonKind.LIMIT:
        return f"{_sum(reason)} would pass the limit {_amount(reason, reason.bound)} of {reason.queue}"
    if reason.kind is ReasonKind.OVER_GUARANTEE:
        return (
            f"non-preemptible work stays inside the guarantee: {_sum(reason)} would pass"
            f" {_amount(reason, reason.bound)} of {reason.queue}"
        )
    if reason.kind is ReasonKind.KEPT_BY_FIXED_QUEUES:
        return f"{_sum(reason)} would pass the {_amount(reason, reason.bound)} not kept by fixed queues"
    if reason.kind is ReasonKind.MEMBERS_LEAVING:
        return f"{reason.asked} wait until the others of their gang have left"
    if reason.kind is ReasonKind.NOT_TRIED:
        return "there is room, but it is kept for others in this cycle or the action was not asked for"
    if reason.kind is ReasonKind.NO_DOMAIN:
        return (
            f"room for at most {reason.used} of {reason.asked} that start together"
            f" in any one {reason.level} of {reason.bound}"
        )
    return f"{reason.used} of {reason.asked} that start together found a place"


def _details(unplaced: Unplaced) -> Iterator[str]:
    for check, nodes in unplaced.reason.failed_checks.items():
        yield f"{nodes} {'node' if nodes == 1 else 'nodes'}: {_CHECKS[check]}"
    for action, ended in unplaced.searches.items():
        yield f"{action}: {_ENDS[ended]}"


def _remedy(reason: Reason) -> str:
    over = reason.used + reason.asked - reason.bound
    if reason.kind is ReasonKind.LIMIT:
        return f"a limit of {reason.queue} that is {_amount(reason, over)} higher, or less work in it."
    if reason.kind is ReasonKind.OVER_GUARANTEE:
        return f"a guarantee of {reason.queue} that is {_amount(reason, over)} larger, or preemptible work."
    if reason.kind is ReasonKind.KEPT_BY_FIXED_QUEUES:
        return f"{_amount(reason, over)} more in the pool, or smaller guarantees of fixed queues."
    if reason.kind is ReasonKind.NO_ROOM:
        return f"room for {reason.asked - reason.used} more of its replicas."
    if reason.kind is ReasonKind.NO_DOMAIN:
        more = reason.asked - reason.used
        return f"room for {more} more of its replicas in one {reason.level}, or a wider required level."
    return "the next cycle."


def _sum(reason: Reason) -> str:
    return f"{_amount(reason, reason.used)} in use and {_amount(reason, reason.asked)} more"


def _amount(reason: Reason, number: int) -> str:
    if reason.resource is Resource.MEMORY_MIB:
        return f"{number} MiB"
    unit = "GPU" if reason.resource is Resource.GPU_MILLI else "CPU"
    return f"{number / 1000:g} {unit}"
