"""Flavors as people see and change them.

Whoever may manage flavors on every organisation that may use one may change it: a department makes flavors
for itself and leaves those of the whole installation alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from corral.api.callers import Caller
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import Subject, record
from corral.core.ids import Kind, new_id
from corral.core.nodes import Node
from corral.core.permissions import Permission
from corral.core.refusals import Invalid, NotFound
from corral.core.scopes import contains
from corral.core.workloads import Request
from corral.events.record import publish
from corral.identity.lookups import Organisation, find_node, root_of
from corral.identity.tables import organisation
from corral.queues.flavor_rules import settled_mode, size_of
from corral.queues.flavors import facts_of
from corral.queues.models import Flavor, FlavorChange, FlavorGpu, FlavorLack, FlavorPlace, NewFlavor
from corral.queues.tables import flavor, flavor_organisation
from corral.scheduling.explaining.shortfalls import lack_of_one
from corral.scheduling.explaining.wording import lacking
from corral.store.database import AnyRow, Transaction
from corral.store.schema import JsonObject
from corral.zones.snapshot import shapes
from corral.zones.zones import all_zones

FLAVOR = "flavor"


@dataclass(frozen=True, slots=True)
class _Place:
    """An organisation that may use a flavor."""

    id: str
    name: str
    path: str


def list_flavors(
    transaction: Transaction, caller: Caller, organisation_id: str | None = None, kind: str | None = None
) -> list[Flavor]:
    """Those that some work the caller may see could use; or those that work of one organisation may use.

    With a kind, those that are offered for it.
    """
    scopes = caller.scopes(Permission.FLAVORS_READ)
    if organisation_id is not None:
        scopes = [find_node(transaction, caller, organisation_id, Permission.FLAVORS_READ).path]
    whole = organisation_id is None
    root, places = root_of(transaction), _places(transaction)
    nodes = [each for zone in all_zones(transaction) for each in shapes(transaction, zone.id)]
    shown = []
    for row in transaction.rows(select(flavor)):
        if kind is not None and row.kinds and kind not in row.kinds:
            continue
        given = places.get(row.id, [])
        fits = any(
            contains(place.path, scope) or (whole and contains(scope, place.path))
            for place in given
            for scope in scopes
        )
        if fits or (whole and caller.may(Permission.FLAVORS_MANAGE, root.path)):
            shown.append(_flavor(row, caller, given, root, nodes))
    return sorted(shown, key=_order)


def get_flavor(transaction: Transaction, caller: Caller, flavor_id: str) -> Flavor:
    for found in list_flavors(transaction, caller):
        if found.id == flavor_id:
            return found
    raise NotFound(f"There is no flavor {flavor_id} that you may see.", "List the flavors to find its id.")


def create_flavor(
    transaction: Transaction, caller: Caller, new: NewFlavor, known_kinds: Sequence[str]
) -> Flavor:
    _check_kinds(new.kinds, known_kinds)
    nodes = _allowed(transaction, caller, new.organisation_ids)
    _check_name(transaction, new.name)
    flavor_id = new_id(Kind.FLAVOR, transaction.now)
    transaction.run(
        insert(flavor).values(
            id=flavor_id,
            name=new.name,
            description=new.description,
            cpu_milli=new.cpu_milli,
            memory_mib=new.memory_mib,
            kinds=sorted(set(new.kinds)),
            enabled=new.enabled,
            preset=False,
            created_at=transaction.now,
            generation=1,
            **_gpu_columns(new.gpu),
        )
    )
    _give(transaction, flavor_id, nodes)
    made = get_flavor(transaction, caller, flavor_id)
    record(transaction, caller, "flavor.create", _subject(transaction, made, nodes), after=_told(made))
    publish(transaction, FLAVOR, flavor_id, 1)
    return made


def change_flavor(
    transaction: Transaction,
    caller: Caller,
    flavor_id: str,
    change: FlavorChange,
    expected: Expected,
    known_kinds: Sequence[str],
) -> Flavor:
    before = get_flavor(transaction, caller, flavor_id)
    expected.check(before.generation)
    held = _require_all(transaction, caller, flavor_id)
    wanted = change.given(may_be_empty=("gpu",))
    values: JsonObject = {
        name: wanted[name]
        for name in ("name", "description", "cpu_milli", "memory_mib", "enabled")
        if name in wanted
    }
    if values.get("name", before.name) != before.name:
        _check_name(transaction, values["name"])
    if change.kinds is not None:
        _check_kinds(change.kinds, known_kinds)
        values["kinds"] = sorted(set(change.kinds))
    if "gpu" in wanted:
        values.update(_gpu_columns(change.gpu))
    nodes = held
    if change.organisation_ids is not None:
        nodes = _allowed(transaction, caller, change.organisation_ids)
        _give(transaction, flavor_id, nodes)
    if values:
        transaction.run(update(flavor).where(flavor.c.id == flavor_id).values(**values))
    after = get_flavor(transaction, caller, flavor_id)
    old, new = _told(before), _told(after)
    if old == new:
        return after
    transaction.run(update(flavor).where(flavor.c.id == flavor_id).values(generation=before.generation + 1))
    differs = [name for name in new if old[name] != new[name]]
    record(
        transaction,
        caller,
        "flavor.change",
        _subject(transaction, after, nodes),
        before={name: old[name] for name in differs},
        after={name: new[name] for name in differs},
    )
    publish(transaction, FLAVOR, flavor_id, before.generation + 1)
    return get_flavor(transaction, caller, flavor_id)


def delete_flavor(transaction: Transaction, caller: Caller, flavor_id: str, expected: Expected) -> None:
    """Work that was started with it keeps what it asked for."""
    found = get_flavor(transaction, caller, flavor_id)
    expected.check(found.generation)
    nodes = _require_all(transaction, caller, flavor_id)
    given = flavor_organisation.c.flavor_id == flavor_id
    transaction.run(delete(flavor_organisation).where(given))
    transaction.run(delete(flavor).where(flavor.c.id == flavor_id))
    record(transaction, caller, "flavor.delete", _subject(transaction, found, nodes), before=_told(found))
    publish(transaction, FLAVOR, flavor_id, found.generation + 1)


def _allowed(transaction: Transaction, caller: Caller, organisation_ids: Iterable[str]) -> list[Organisation]:
    wanted = dict.fromkeys(organisation_ids)
    return [find_node(transaction, caller, one, Permission.FLAVORS_MANAGE) for one in wanted]


def _require_all(transaction: Transaction, caller: Caller, flavor_id: str) -> list[Organisation]:
    """That the caller may manage flavors wherever this one is used."""
    given = _places(transaction).get(flavor_id, [])
    root = root_of(transaction)
    for place in given:
        caller.require(Permission.FLAVORS_MANAGE, place.path, "every organisation that may use the flavor")
    if not given:
        caller.require(Permission.FLAVORS_MANAGE, root.path, root.name)
    return [Organisation(place.id, None, place.name, place.path, 0) for place in given]


def _give(transaction: Transaction, flavor_id: str, nodes: Iterable[Organisation]) -> None:
    given = flavor_organisation
    transaction.run(delete(given).where(given.c.flavor_id == flavor_id))
    rows = [{"flavor_id": flavor_id, "organisation_id": node.id} for node in nodes]
    if rows:
        transaction.run(insert(given), rows)


def _places(transaction: Transaction) -> Mapping[str, list[_Place]]:
    found: dict[str, list[_Place]] = {}
    statement = (
        select(flavor_organisation.c.flavor_id, organisation.c.id, organisation.c.name, organisation.c.path)
        .join(organisation, organisation.c.id == flavor_organisation.c.organisation_id)
        .order_by(organisation.c.path)
    )
    for flavor_id, *place in transaction.rows(statement):
        found.setdefault(flavor_id, []).append(_Place(*place))
    return found


def _check_name(transaction: Transaction, name: str) -> None:
    if transaction.scalar(select(flavor.c.id).where(flavor.c.name == name)) is not None:
        raise conflict("body.name", f"There is already a flavor called {name}.", "Choose another name.")


def _check_kinds(wanted: Sequence[str], known: Sequence[str]) -> None:
    for index, kind in enumerate(wanted):
        if kind not in known:
            raise Invalid.field(
                f"body.kinds[{index}]", f"There is no kind {kind}.", f"Use one of: {', '.join(known)}."
            )


def _gpu_columns(gpu: FlavorGpu | None) -> JsonObject:
    return {
        "gpu_count": 0 if gpu is None else gpu.count,
        "gpu_memory_mib": None if gpu is None else gpu.memory_mib,
        "gpu_fraction_milli": None if gpu is None else gpu.fraction_milli,
        "gpu_compute_percent": 0 if gpu is None else gpu.compute_percent,
        "gpu_profile": None if gpu is None else gpu.profile,
        "gpu_models": [] if gpu is None else sorted(set(gpu.models)),
        "mode": None if gpu is None else settled_mode(gpu),
    }


def _order(one: Flavor) -> tuple[object, ...]:
    """What can run first, and the smaller before the larger."""
    return one.lack is not None, *size_of(one.gpu), one.cpu_milli, one.name


def _lack(row: AnyRow, nodes: Sequence[Node]) -> FlavorLack | None:
    facts = facts_of(row)
    lack = lack_of_one(Request(facts.cpu_milli, facts.memory_mib, facts.devices), nodes)
    if lack is None:
        return None
    return FlavorLack(
        kind=lack.kind.value,
        asked=lack.asked,
        most=lack.most,
        names=list(lack.names),
        restricted=lack.restricted,
        sentence=f"Fits on no node: {lacking(lack)}.",
    )


def _flavor(
    row: AnyRow, caller: Caller, given: list[_Place], root: Organisation, nodes: Sequence[Node]
) -> Flavor:
    gpu = None
    if row.gpu_count:
        gpu = FlavorGpu(
            count=row.gpu_count,
            memory_mib=row.gpu_memory_mib,
            fraction_milli=row.gpu_fraction_milli,
            compute_percent=row.gpu_compute_percent,
            profile=row.gpu_profile,
            models=row.gpu_models,
            mode=row.mode,
        )
    paths = [place.path for place in given] or [root.path]
    return Flavor(
        id=row.id,
        name=row.name,
        description=row.description,
        cpu_milli=row.cpu_milli,
        memory_mib=row.memory_mib,
        gpu=gpu,
        kinds=row.kinds,
        enabled=row.enabled,
        preset=row.preset,
        organisations=[
            FlavorPlace(id=place.id, name=place.name)
            for place in given
            if caller.may(Permission.FLAVORS_READ, place.path)
        ],
        may_change=all(caller.may(Permission.FLAVORS_MANAGE, path) for path in paths),
        lack=_lack(row, nodes),
        created_at=row.created_at,
        generation=row.generation,
    )


def _told(one: Flavor) -> JsonObject:
    fields = {"name", "description", "cpu_milli", "memory_mib", "gpu", "kinds", "enabled"}
    told = one.model_dump(include=fields)
    return {**told, "organisations": [place.name for place in one.organisations]}


def _subject(transaction: Transaction, one: Flavor, nodes: list[Organisation]) -> Subject:
    """In the log of the one organisation that may use it, or of all."""
    path = nodes[0].path if len(nodes) == 1 else root_of(transaction).path
    return Subject("flavor", one.id, one.name, path)
