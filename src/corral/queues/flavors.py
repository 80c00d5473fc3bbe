"""Flavors: named bundles of CPU, memory and GPUs, found by those who may use them."""

from dataclasses import dataclass

from sqlalchemy import Select, or_, select

from corral.core.refusals import Conflict, Invalid, NotFound
from corral.core.scopes import ancestors
from corral.core.workloads import DeviceRequest
from corral.identity.lookups import Organisation
from corral.queues.tables import flavor, flavor_organisation
from corral.store.database import AnyRow, Transaction


@dataclass(frozen=True, slots=True)
class FlavorFacts:
    """What work with this flavor asks for, per replica. `mode` is None without devices; no kinds are all."""

    id: str
    name: str
    cpu_milli: int
    memory_mib: int
    devices: DeviceRequest | None
    mode: str | None
    kinds: tuple[str, ...] = ()

    def is_offered_for(self, kind: str) -> bool:
        return not self.kinds or kind in self.kinds


def find(transaction: Transaction, node: Organisation, name_or_id: str, kind: str) -> FlavorFacts:
    """The flavor, if work of this kind and organisation may use it."""
    row = transaction.first(
        _usable(ancestors(node.path)).where(or_(flavor.c.id == name_or_id, flavor.c.name == name_or_id))
    )
    if row is None:
        raise NotFound(
            f"There is no flavor {name_or_id[:60]} that {node.name} may use.",
            "List the flavors (corral flavor list) and choose one of them.",
        )
    if not row.enabled:
        raise Conflict(f"The flavor {row.name} is disabled.", "Choose another flavor.")
    found = facts_of(row)
    if not found.is_offered_for(kind):
        raise Invalid.field(
            "body.flavor",
            f"The flavor {row.name} is offered for {' and '.join(found.kinds)}, not for {kind}.",
            f"Choose another flavor: {usable_names(transaction, node, kind)}.",
        )
    return found


def usable_names(transaction: Transaction, node: Organisation, kind: str) -> str:
    """A few of them, for whoever has to choose."""
    return ", ".join(one.name for one in usable(transaction, node, kind)[:8]) or "none is there yet"


def usable(transaction: Transaction, node: Organisation, kind: str) -> tuple[FlavorFacts, ...]:
    """The enabled flavors that work of this kind and organisation may use, the smallest first."""
    statement = _usable(ancestors(node.path)).where(flavor.c.enabled)
    found = (facts_of(row) for row in transaction.rows(statement))
    offered = (one for one in found if one.is_offered_for(kind))
    return tuple(sorted(offered, key=lambda one: (one.devices is not None, one.cpu_milli, one.name)))


def facts_of(row: AnyRow) -> FlavorFacts:
    devices = None
    if row.gpu_count:
        devices = DeviceRequest(
            count=row.gpu_count,
            memory_mib=row.gpu_memory_mib,
            fraction_milli=row.gpu_fraction_milli,
            compute_percent=row.gpu_compute_percent,
            models=tuple(row.gpu_models),
            profile=row.gpu_profile,
        )
    return FlavorFacts(row.id, row.name, row.cpu_milli, row.memory_mib, devices, row.mode, tuple(row.kinds))


def _usable(chain: list[str]) -> Select[*tuple[object, ...]]:
    """Flavors given to one of the organisations from the root down to this one."""
    given = select(flavor_organisation.c.flavor_id).where(flavor_organisation.c.organisation_id.in_(chain))
    return select(flavor).where(flavor.c.id.in_(given))
