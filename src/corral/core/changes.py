"""Changes that would let a workload run: to itself, to the queues above it, to the cluster, or time."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from corral.core.resources import Resource


@dataclass(frozen=True, slots=True)
class MakePreemptible:
    """All of it may be taken from, so it need not stay inside the guarantee."""

    kind: Literal["make_preemptible"] = "make_preemptible"


@dataclass(frozen=True, slots=True)
class LowerMinimum:
    group: str
    minimum: int
    kind: Literal["lower_minimum"] = "lower_minimum"


@dataclass(frozen=True, slots=True)
class AskForLess:
    """One quantity of a group's request, lowered to `amount`."""

    group: str
    what: Literal["devices", "slice_mib", "cpu_milli", "memory_mib"]
    amount: int
    kind: Literal["ask_for_less"] = "ask_for_less"


@dataclass(frozen=True, slots=True)
class DropCondition:
    """One condition of a group about where it may run; for a taint that is tolerating it."""

    group: str
    what: Literal["taint", "label", "nodes", "models", "topology"]
    name: str = ""
    kind: Literal["drop_condition"] = "drop_condition"


@dataclass(frozen=True, slots=True)
class UsePool:
    pool: str
    kind: Literal["use_pool"] = "use_pool"


@dataclass(frozen=True, slots=True)
class LimitRuntime:
    seconds: int
    kind: Literal["limit_runtime"] = "limit_runtime"


@dataclass(frozen=True, slots=True)
class Wait:
    """Until what runs has ended, as far as its end is known; `workload` is the last one needed."""

    until: int
    workload: str
    kind: Literal["wait"] = "wait"


class Bound(StrEnum):
    LIMIT = "limit"
    GUARANTEE = "guarantee"


@dataclass(frozen=True, slots=True)
class Raise:
    queue: str
    bound: Bound
    resource: Resource
    by: int


@dataclass(frozen=True, slots=True)
class RaiseBounds:
    """Every bound on the way up that is too low."""

    pool: str
    raises: tuple[Raise, ...]
    kind: Literal["raise_bounds"] = "raise_bounds"


@dataclass(frozen=True, slots=True)
class AddNodes:
    """`count` more nodes like one that is there."""

    like: str
    count: int
    kind: Literal["add_nodes"] = "add_nodes"


Change = (
    MakePreemptible
    | LowerMinimum
    | AskForLess
    | DropCondition
    | UsePool
    | LimitRuntime
    | Wait
    | RaiseBounds
    | AddNodes
)
