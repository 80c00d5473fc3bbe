"""The snapshot: everything a plan depends on, as values and as JSON.

The JSON form is the nouns themselves, field by field, in snake case; what has its default may be left out,
and nothing unknown is accepted. `docs/scheduling/snapshot.md` describes it.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from corral.core.devices import Device, DeviceUse
from corral.core.explanations import Explanation
from corral.core.holds import Claim, HeldPlace, Hold
from corral.core.mig import MigGeometry, MigInstance, MigProfile
from corral.core.mixes import ClassCount, Experience, Mix, WorkClass
from corral.core.nodes import DeviceLink, Node, Pool, Topology
from corral.core.plans import (
    DroppedClaim,
    Eviction,
    Placement,
    Plan,
    Promise,
    Reason,
    Reservation,
    Unplaced,
)
from corral.core.queues import Queue, Quota
from corral.core.refusals import FieldError, Invalid
from corral.core.workloads import (
    Affinity,
    DeviceRequest,
    Replica,
    ReplicaGroup,
    Request,
    TopologyRequest,
    Workload,
)

DEFAULT_POOL = Pool("default")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment. Without pools all nodes are in one, named `default`. `mix` is by pool."""

    now: int
    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    workloads: tuple[Workload, ...]
    pools: tuple[Pool, ...] = (DEFAULT_POOL,)
    claims: tuple[Claim, ...] = ()
    holds: tuple[Hold, ...] = ()
    mix: Mapping[str, Mix] = field(default_factory=dict)


def read_snapshot(text: str | bytes) -> Snapshot:
    """The snapshot in a JSON document, checked; raises `Invalid` that names every wrong place."""
    from corral.scheduling.validate.snapshot_checks import check_snapshot

    try:
        snapshot = _adapter(Snapshot).validate_json(text)
    except ValidationError as error:
        raise _refused(error) from None
    check_snapshot(snapshot)
    return snapshot  # type: ignore[no-any-return]


def write_snapshot(snapshot: Snapshot) -> str:
    """The JSON document of a snapshot; what has its default is left out."""
    return json.dumps(_adapter(Snapshot).dump_python(snapshot, mode="json", exclude_defaults=True), indent=1)


def snapshot_schema() -> dict[str, Any]:
    """The JSON Schema of a snapshot."""
    return _adapter(Snapshot).json_schema()


def write_plan(plan: Plan) -> str:
    """The JSON document of a plan."""
    return json.dumps(_adapter(Plan).dump_python(plan, mode="json"), indent=1)


def read_plan(text: str | bytes) -> Plan:
    """The plan in a JSON document."""
    try:
        return _adapter(Plan).validate_json(text)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise _refused(error) from None


def write_explanation(explanation: Explanation) -> str:
    """The JSON document of an explanation."""
    return json.dumps(_adapter(Explanation).dump_python(explanation, mode="json"), indent=1)


def write_value(value: object) -> bytes:
    """The JSON form of one noun or of a value made of them, with everything in it.

    Raises `ValueError` for one in which something is not of its type: nobody could read it.
    """
    form: Any = type(value)
    return _adapter(form).dump_json(value, warnings="error")


def read_value(text: bytes, form: type[T]) -> T:
    """A value from its JSON form; only for what Corral itself wrote."""
    any_form: Any = form
    return _adapter(any_form).validate_json(text)  # type: ignore[no-any-return]


_NOUNS: tuple[type, ...] = (
    Affinity,
    ClassCount,
    Claim,
    Device,
    DeviceLink,
    DeviceRequest,
    DeviceUse,
    DroppedClaim,
    Eviction,
    Experience,
    HeldPlace,
    Hold,
    Mix,
    MigGeometry,
    MigInstance,
    MigProfile,
    Node,
    Placement,
    Plan,
    Pool,
    Promise,
    Queue,
    Quota,
    Reason,
    Replica,
    ReplicaGroup,
    Request,
    Reservation,
    Snapshot,
    Topology,
    TopologyRequest,
    Unplaced,
    WorkClass,
    Workload,
)


@cache
def _adapter(form: type) -> TypeAdapter[Any]:
    for noun in _NOUNS:
        assert dataclasses.is_dataclass(noun)
        # Core knows nothing of Pydantic; the strictness of the JSON form is set here.
        noun.__pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    return TypeAdapter(form)


def _refused(error: ValidationError) -> Invalid:
    errors = [
        FieldError(_place(found["loc"]), found["msg"], "docs/scheduling/snapshot.md describes the form.")
        for found in error.errors(include_url=False, include_input=False)
    ]
    count = len(errors)
    return Invalid(
        f"The snapshot cannot be read: {count} {'place is' if count == 1 else 'places are'} wrong.",
        "Correct the places that are named.",
        errors=errors,
    )


def _place(location: tuple[int | str, ...]) -> str:
    place = ""
    for part in location:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else part
    return place or "document"
