"""Runtimes as work uses them: which one a document means, and whose files it is.

A runtime lives as long as the workload that built it is not deleted: the engine keeps its directory with that
workload. A runtime belongs to the person who made it: what is installed there runs with its owner's rights,
and nobody else's. How runtimes are made and built is `corral.runtimes`.
"""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import select, update

from corral.core.refusals import Invalid, NotFound
from corral.inputs.tables import runtime
from corral.store.database import AnyRow, Transaction
from corral.workloads.documents import Document
from corral.workloads.states import State
from corral.workloads.tables import workload
from corral.zones.tables import zone

RuntimeState = Literal["defined", "building", "ready", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsesRuntime(Document):
    """A document of any kind, as far as it names a runtime."""

    runtime: str | None = None


RUNTIMES = (
    select(
        *runtime.c,
        workload.c.state.label("build_state"),
        workload.c.zone_id.label("build_zone_id"),
        zone.c.name.label("build_zone_name"),
    )
    .join(workload, workload.c.id == runtime.c.workload_id, isouter=True)
    .join(zone, zone.c.id == workload.c.zone_id, isouter=True)
)


def check(transaction: Transaction, owner_id: str, wanted: str, zone_id: str | None = None) -> str:
    """The runtime that new work names, as `name:version`; without a version, the newest that is ready.

    With a zone, one that was built there: a runtime is on the machine that built it.
    """
    name, _, version = wanted.partition(":")
    rows = transaction.rows(
        RUNTIMES.where(runtime.c.user_id == owner_id, runtime.c.name == name).order_by(
            runtime.c.version.desc()
        )
    )
    chosen = [row for row in rows if not version or str(row.version) == version]
    ready = [row for row in chosen if state_of(row) == "ready"]
    here = [row for row in ready if zone_id in {None, row.build_zone_id}]
    if here:
        return pinned(here[0])
    if ready:
        place = ready[0].build_zone_name
        raise Invalid.field(
            "body.runtime",
            f"The runtime {pinned(ready[0])} was built in the zone {place}, and is only there.",
            f"Leave the zone out, or use {place}.",
        )
    if not chosen:
        remedy = f"Make it: corral runtime create {name}."
        raise Invalid.field("body.runtime", f"You have no runtime {wanted}.", remedy)
    state, work = state_of(chosen[0]), chosen[0].workload_id
    remedy = f"Build it: corral runtime build {name}."
    if state == "building":
        remedy = f"Submit again when it is ready; the work {work} builds it."
    raise Invalid.field("body.runtime", f"The runtime {wanted} is {state}.", remedy)


def zones_of(transaction: Transaction, owner_id: str, wanted: str) -> frozenset[str]:
    """The zones in which the runtime, in some version that fits the name, can be used now."""
    name, _, version = wanted.partition(":")
    rows = transaction.rows(RUNTIMES.where(runtime.c.user_id == owner_id, runtime.c.name == name))
    fitting = (row for row in rows if not version or str(row.version) == version)
    return frozenset(row.build_zone_id for row in fitting if state_of(row) == "ready")


def builder_of(transaction: Transaction, user_id: str, wanted: str) -> str:
    """The workload whose environment the runtime is."""
    name, _, version = wanted.partition(":")
    row = transaction.first(
        RUNTIMES.where(
            runtime.c.user_id == user_id, runtime.c.name == name, runtime.c.version == int(version)
        )
    )
    if row is None or state_of(row) != "ready":
        raise NotFound(f"Its runtime {wanted} is no longer there.", f"Build it: corral runtime build {name}.")
    transaction.run(update(runtime).where(runtime.c.id == row.id).values(used_at=transaction.now))
    return str(row.workload_id)


def pinned(row: AnyRow) -> str:
    return f"{row.name}:{row.version}"


def state_of(row: AnyRow) -> RuntimeState:
    match row.build_state:
        case None | State.DELETED:
            return "defined"
        case State.SUCCEEDED:
            return "ready"
        case State.FAILED | State.STOPPED:
            return "failed"
        case _:
            return "building"
