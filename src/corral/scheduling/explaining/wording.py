"""Reasons and remedies in English, with their numbers."""

from collections.abc import Iterator

from corral.core.changes import (
    AddNodes,
    AskForLess,
    Change,
    DropCondition,
    LimitRuntime,
    LowerMinimum,
    MakePreemptible,
    Raise,
    RaiseBounds,
    UsePool,
    Wait,
)
from corral.core.durations import duration_words
from corral.core.explanations import Estimate, Explanation, NoEstimate
from corral.core.holds import RESTART
from corral.core.plans import Action, Lack, LackKind, Reason, ReasonKind, SearchResult
from corral.core.resources import Resource

_CHECKS = {
    "cordoned": "it is cordoned",
    "lost": "it is lost",
    "labels": "labels, taints or the named nodes do not allow it",
    "device_kind": "the node has no device of that model, size or mode",
    "device_count": "the node has fewer such devices than a replica asks for",
    "pods": "the node runs as many pods as it may",
    "cpu": "too little CPU is left",
    "memory": "too little memory is left",
    "devices": "too few devices have room",
    "neighbours": "work that it must be near is not there, or work that it must be apart from is",
}
_ENDS = {
    (Action.CONSOLIDATE, SearchResult.IMPOSSIBLE): "moving other work makes no room",
    (Action.RECLAIM, SearchResult.NOT_ALLOWED): (
        "its queue may take nothing from others: it would hold more than its fair share"
    ),
    (Action.RECLAIM, SearchResult.IMPOSSIBLE): "what other queues hold above their share makes no room",
    (Action.PREEMPT, SearchResult.IMPOSSIBLE): "no work of lower priority makes room",
}
# Taking from others is no help against these, and how it ended says nothing.
_NOT_FOR_WANT_OF_ROOM = {ReasonKind.OVER_GUARANTEE, ReasonKind.RESERVED, ReasonKind.HELD}
_CUT_SHORT = "the search ended before every set of workloads was tried"
_UNITS = {Resource.GPU_MILLI: "GPU", Resource.CPU_MILLI: "CPU", Resource.MEMORY_MIB: "memory"}
_CONDITIONS = {
    "nodes": "if it did not name nodes",
    "models": "if it accepted any device model",
    "topology": "if it did not require one domain of the topology",
}


def sentence(reason: Reason, now: int) -> str:
    """The rule that stopped a workload, with the numbers that decided."""
    match reason.kind:
        case ReasonKind.LIMIT:
            return f"{_sum(reason)} would pass the limit {_amount(reason, reason.bound)} of {reason.queue}"
        case ReasonKind.OVER_GUARANTEE:
            return _over_guarantee(reason)
        case ReasonKind.KEPT_BY_FIXED_QUEUES:
            return f"{_sum(reason)} would pass the {_amount(reason, reason.bound)} not kept by fixed queues"
        case ReasonKind.RESERVED:
            assert reason.at is not None
            return (
                f"there is room, but it is kept for {reason.kept_for} in {duration(reason.at - now)},"
                " and this might still run then"
            )
        case ReasonKind.HELD:
            assert reason.at is not None
            if reason.hold is not None and reason.hold.startswith(RESTART):
                return "there is room, but it is kept for work that restarts"
            since = "now" if reason.at <= now else f"from in {duration(reason.at - now)} on"
            keeper = reason.kept_for or "nobody"
            return (
                f"there is room, but {reason.hold} keeps it {since} for {keeper},"
                " and this might still run then"
            )
        case ReasonKind.MEMBERS_LEAVING:
            return f"{reason.asked} wait until the others of their gang have left"
        case ReasonKind.NOT_TRIED:
            return "there is room, but it is kept for others in this cycle or the action was not asked for"
        case ReasonKind.NO_DOMAIN:
            return (
                f"room for at most {reason.used} of {reason.asked} that start together"
                f" in any one {reason.level} of {reason.bound}"
            )
        case ReasonKind.NO_ROOM:
            if reason.asked == 1:
                return "no node has room for it"
            found = f"only {reason.used}" if reason.used else "none"
            return f"{found} of its {reason.asked} replicas that start together found a place"


def never(reason: Reason, lack: Lack | None) -> str:
    """Why work cannot run even alone: the end of "can never run because", with what it asks for."""
    if lack is not None:
        return lacking(lack)
    match reason.kind:
        case ReasonKind.LIMIT:
            requested, bound = _amount(reason, reason.asked), _amount(reason, reason.bound)
            return f"it asks for {requested}, and the limit of {reason.queue} is {bound}"
        case ReasonKind.KEPT_BY_FIXED_QUEUES:
            requested, bound = _amount(reason, reason.asked), _amount(reason, reason.bound)
            return f"it asks for {requested}, and only {bound} are not kept by fixed queues"
        case ReasonKind.NO_DOMAIN:
            return (
                f"its {reason.asked} replicas start together in one {reason.level},"
                f" and none has room for more than {reason.used}"
            )
        case ReasonKind.NO_ROOM:
            return f"its {reason.asked} replicas start together, and there is room for {reason.used} in all"
        case _:
            return sentence(reason, 0)


def lacking(lack: Lack) -> str:
    """What it asks for, and what there is."""
    names = " or ".join(lack.names)
    kind = f"{names} GPU" if names else "GPU"
    asked_gpus = f"{lack.asked} {kind}{'' if lack.asked == 1 else 's'}"
    open_to_it = " open to it" if lack.restricted else ""
    largest = f"the largest node{open_to_it} has"
    match lack.kind:
        case LackKind.NODES:
            return "there is no node in its pools"
        case LackKind.LABELS:
            return f"no node matches the labels and names that it asks for: {', '.join(lack.names)}"
        case LackKind.TAINTS:
            return f"every node{open_to_it} has a taint that keeps it away: {', '.join(lack.names)}"
        case LackKind.MODELS:
            return f"no node{open_to_it} has a GPU of the model {names}"
        case LackKind.PROFILE:
            return f"no GPU{open_to_it} can be cut into {names}"
        case LackKind.SHARED:
            return f"no GPU{open_to_it} is shared in parts"
        case LackKind.SLICE_MIB:
            requested, most = size(lack.asked), size(lack.most)
            shared = f"the largest{open_to_it} that can be shared"
            return f"it asks for {requested} of one {kind}, and {shared} has {most}"
        case LackKind.DEVICES:
            has = f"{largest} {lack.most}" if lack.most else f"no node{open_to_it} has one"
            return f"it asks for {asked_gpus} on one node, and {has}"
        case LackKind.USABLE_DEVICES:
            has = f"more than {lack.most} that it can use" if lack.most else "one that it can use"
            return f"it asks for {asked_gpus} on one node, and no node{open_to_it} has {has}"
        case LackKind.CPU_MILLI:
            requested, most = f"{lack.asked / 1000:g}", f"{lack.most / 1000:g}"
            return f"it asks for {requested} CPU on one node, and {largest} {most}"
        case LackKind.MEMORY_MIB:
            requested, most = size(lack.asked), size(lack.most)
            return f"it asks for {requested} of memory on one node, and {largest} {most}"
        case LackKind.COMBINED:
            return f"no one node{open_to_it} has all that a replica asks for"
        case LackKind.REPLICAS:
            return f"its {lack.asked} replicas start together, and there is room for {lack.most} in all"


def size(mib: int) -> str:
    return f"{mib / 1024:.4g} GiB" if mib >= 1024 else f"{mib} MiB"


def remedy(reason: Reason) -> str | None:
    """What its owner can do where no waiting helps, as an order."""
    if reason.kind is not ReasonKind.OVER_GUARANTEE:
        return None
    needed = _amount(reason, reason.used + reason.asked)
    return f"make it preemptible, or ask for a guarantee of at least {needed} for {reason.queue}"


def details(explanation: Explanation) -> Iterator[str]:
    """On how many nodes which check failed, and how the searches for work to take from ended."""
    beside = " beside those that found a place" if explanation.reason.used else ""
    for check, nodes in explanation.reason.failed_checks.items():
        yield f"{nodes} {'node' if nodes == 1 else 'nodes'}{beside}: {_CHECKS[check]}"
    for action, ended in explanation.searches.items():
        if ended is SearchResult.OUT_OF_BUDGET:
            yield f"{action}: {_CUT_SHORT}"
        elif (action, ended) in _ENDS and explanation.reason.kind not in _NOT_FOR_WANT_OF_ROOM:
            yield f"{action}: {_ENDS[action, ended]}"


def advice(change: Change, now: int) -> str:
    """What would help, as the end of "it would run". A group without a name is all of the work."""
    match change:
        case MakePreemptible():
            return "if it were preemptible"
        case LowerMinimum():
            least = f"if it could start with {change.minimum}"
            return f"{least} of {change.group}" if change.group else f"{least} replicas"
        case AskForLess():
            return (
                f"if it asked for {_less(change)} per replica{f' in {change.group}' if change.group else ''}"
            )
        case DropCondition(what="taint"):
            return f"if it tolerated the taint {change.name}"
        case DropCondition(what="label"):
            return f"if it did not ask for the node label {change.name}"
        case DropCondition():
            return _CONDITIONS[change.what]
        case UsePool():
            return f"in the pool {change.pool}"
        case LimitRuntime():
            return f"if it had a run-time limit of {duration(change.seconds)}"
        case Wait():
            return f"when {change.workload} ends, probably in {duration(change.until - now)}"
        case RaiseBounds():
            return f"if {' and '.join(map(_raise, change.raises))}"
        case AddNodes(count=1):
            return f"if there were one more node like {change.like}"
        case AddNodes():
            return f"if there were {change.count} more nodes like {change.like}"


def expectation(estimate: Estimate, now: int, error_seconds: int | None = None) -> str:
    """When it will probably start, with the usual error of such an estimate where that is known."""
    if estimate.starts_at is not None:
        error = "" if error_seconds is None else f", usually wrong by {duration(error_seconds)}"
        return f"probably in {duration(estimate.starts_at - now)}{error}"
    if estimate.without is NoEstimate.PASSED:
        return "no estimate: it was to start before now, and did not"
    if estimate.without is NoEstimate.UNCERTAIN:
        return "no estimate: the last ones were wrong by more than it would have to wait"
    if estimate.without is NoEstimate.TOO_FAR_BACK:
        return "no estimate: too many wait before it"
    return "no estimate: it waits for work whose end is not known"


def duration(seconds: int) -> str:
    return duration_words(seconds)


def _less(change: AskForLess) -> str:
    match change.what:
        case "devices":
            return "one GPU" if change.amount == 1 else f"{change.amount} GPUs"
        case "slice_mib":
            return f"a slice of {size(change.amount)}"
        case "cpu_milli":
            return f"{change.amount / 1000:g} CPU"
        case "memory_mib":
            return f"{size(change.amount)} of memory"


def _raise(each: Raise) -> str:
    return f"the {each.bound} of {each.queue} were {_quantity(each.resource, each.by)} higher"


def _over_guarantee(reason: Reason) -> str:
    rule = "work that is not preemptible runs only inside a guarantee"
    if not reason.bound:
        return f"{rule}, and {reason.queue} is guaranteed no {_UNITS[_resource(reason)]}"
    if reason.asked > reason.bound:
        requested, bound = _amount(reason, reason.asked), _amount(reason, reason.bound)
        return f"{rule}: it asks for {requested}, and {reason.queue} is guaranteed {bound}"
    return f"{rule}: {_sum(reason)} would pass {_amount(reason, reason.bound)} of {reason.queue}"


def _sum(reason: Reason) -> str:
    return f"{_amount(reason, reason.used)} in use and {_amount(reason, reason.asked)} more"


def _amount(reason: Reason, number: int) -> str:
    return _quantity(_resource(reason), number)


def _resource(reason: Reason) -> Resource:
    assert reason.resource is not None
    return reason.resource


def _quantity(resource: Resource, number: int) -> str:
    if resource is Resource.MEMORY_MIB:
        return f"{number} MiB"
    return f"{number / 1000:g} {_UNITS[resource]}"
