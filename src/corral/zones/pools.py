"""Pools: list, create, change, delete. A change of labels moves nodes."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Integer, cast, delete, func, select, update

from corral.api.callers import Caller
from corral.api.problems import conflict
from corral.api.versions import Expected
from corral.audit.record import Subject, record
from corral.core.refusals import Conflict, Invalid, NotFound
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.core.text import name_key
from corral.events.record import publish
from corral.identity.lookups import root_of
from corral.store.database import AnyRow, Transaction
from corral.zones import journal
from corral.zones.history import note_pools
from corral.zones.journal import JournalKind
from corral.zones.models import Capacity, NewPool, Pool, PoolChange, Pools
from corral.zones.pool_hooks import PoolHook
from corral.zones.rules import DeviceHealth, pool_of
from corral.zones.service import add_pool, nodes_changed, pool_labels
from corral.zones.tables import device, node, pool, zone
from corral.zones.zones import require_manager

POOL = "pool"


def list_pools(transaction: Transaction, zone_id: str | None = None) -> Pools:
    """Every pool with what it has, by zone and age."""
    statement = (
        select(pool, zone.c.name.label("zone_name"))
        .join(zone, zone.c.id == pool.c.zone_id)
        .where(zone.c.removed_at.is_(None))
    )
    if zone_id is not None:
        statement = statement.where(pool.c.zone_id == zone_id)
    sizes = capacities(transaction)
    rows = transaction.rows(statement.order_by(pool.c.zone_id, pool.c.id))
    facts = {
        row.pool_id: row
        for row in transaction.rows(
            select(
                node.c.pool_id,
                func.count().label("nodes_count"),
                func.max(cast(node.c.simulated, Integer)).label("simulated"),
            ).group_by(node.c.pool_id)
        )
    }
    return Pools(items=[_pool(row, sizes[row.id], facts.get(row.id)) for row in rows])


def get_pool(transaction: Transaction, pool_id: str) -> Pool:
    found = [one for one in list_pools(transaction).items if one.id == pool_id]
    if not found:
        raise _unknown(pool_id)
    return found[0]


def capacities(transaction: Transaction) -> dict[str, Capacity]:
    """What each pool has on nodes that are there."""
    here = node.c.state == "ready"
    gpus: dict[str, int] = dict(
        transaction.rows(
            select(node.c.pool_id, func.count())
            .join(device, device.c.node_id == node.c.id)
            .where(here, device.c.health == DeviceHealth.HEALTHY)
            .group_by(node.c.pool_id)
        )
    )
    sums = (func.sum(node.c.cpu_milli), func.sum(node.c.memory_mib))
    rows = transaction.rows(select(node.c.pool_id, *sums).where(here).group_by(node.c.pool_id))
    rest = {pool_id: (int(cpu), int(memory)) for pool_id, cpu, memory in rows}
    return {
        pool_id: Capacity(
            gpu_milli=gpus.get(pool_id, 0) * WHOLE_DEVICE_MILLI,
            cpu_milli=rest.get(pool_id, (0, 0))[0],
            memory_mib=rest.get(pool_id, (0, 0))[1],
        )
        for (pool_id,) in transaction.rows(select(pool.c.id))
    }


def create_pool(transaction: Transaction, caller: Caller, new: NewPool) -> Pool:
    require_manager(transaction, caller)
    there = select(zone.c.id).where(zone.c.id == new.zone_id, zone.c.removed_at.is_(None))
    if transaction.scalar(there) is None:
        raise Invalid.field("body.zone_id", f"There is no zone {new.zone_id}.", "Choose one of GET /zones.")
    _check_labels(transaction, new.zone_id, new.labels)
    _check_name(transaction, new.zone_id, new.name)
    values = new.model_dump(exclude={"zone_id", "name"})
    pool_id = add_pool(transaction, new.zone_id, new.name, **values)
    _sort_nodes(transaction, new.zone_id)
    made = get_pool(transaction, pool_id)
    record(transaction, caller, "pool.create", _subject(transaction, made), after=new.model_dump())
    publish(transaction, POOL, pool_id, 1)
    return made


def change_pool(
    transaction: Transaction, caller: Caller, pool_id: str, change: PoolChange, expected: Expected
) -> Pool:
    require_manager(transaction, caller)
    before = get_pool(transaction, pool_id)
    expected.check(before.generation)
    stored = before.model_dump()
    wanted = {name: value for name, value in change.given().items() if value != stored[name]}
    if not wanted:
        return before
    if "labels" in wanted:
        if not before.labels:
            raise Conflict(
                f"The pool {before.name} takes every node that no other pool does; it has no labels.",
                "Make another pool with these labels.",
            )
        _check_labels(transaction, before.zone_id, wanted["labels"], but=pool_id)
    if "name" in wanted:
        _check_name(transaction, before.zone_id, wanted["name"], but=pool_id)
    transaction.run(
        update(pool).where(pool.c.id == pool_id).values(**wanted, generation=before.generation + 1)
    )
    _sort_nodes(transaction, before.zone_id)
    journal.append(transaction, before.zone_id, JournalKind.POOL, pool_id)
    note_pools(transaction, pool_id)
    after = get_pool(transaction, pool_id)
    previous = {name: stored[name] for name in wanted}
    record(transaction, caller, "pool.change", _subject(transaction, after), before=previous, after=wanted)
    publish(transaction, POOL, pool_id, after.generation)
    return after


def delete_pool(
    transaction: Transaction, caller: Caller, pool_id: str, expected: Expected, hooks: Sequence[PoolHook] = ()
) -> None:
    """Deletes a pool that nothing depends on."""
    require_manager(transaction, caller)
    gone = get_pool(transaction, pool_id)
    expected.check(gone.generation)
    if not gone.labels:
        raise Conflict(
            f"The pool {gone.name} takes every node that no other pool does.",
            "A zone always has this pool; rename it instead.",
        )
    left = {"nodes": gone.nodes_count} if gone.nodes_count else {}
    for hook in hooks:
        left.update(hook.in_the_way(transaction, gone.zone_id, pool_id))
    if left:
        listed = ", ".join(f"{count} {what}" for what, count in left.items())
        raise Conflict(
            f"The pool {gone.name} still has {listed}.",
            "Give the pool other labels so that its nodes leave it, reset the quotas, and let the work end.",
        )
    for hook in hooks:
        hook.delete(transaction, pool_id)
    transaction.run(delete(pool).where(pool.c.id == pool_id))
    journal.append(transaction, gone.zone_id, JournalKind.POOL, pool_id)
    note_pools(transaction, pool_id)
    facts = {"name": gone.name, "labels": gone.labels}
    record(transaction, caller, "pool.delete", _subject(transaction, gone), before=facts)
    publish(transaction, POOL, pool_id, gone.generation + 1)


def _sort_nodes(transaction: Transaction, zone_id: str) -> None:
    """Every node into the pool that its labels say now."""
    pools, moved = pool_labels(transaction, zone_id), []
    nodes = select(node.c.id, node.c.labels, node.c.pool_id).where(node.c.zone_id == zone_id)
    for row in transaction.rows(nodes):
        home = pool_of(row.labels, pools)
        if home != row.pool_id:
            transaction.run(update(node).where(node.c.id == row.id).values(pool_id=home))
            moved.append(row.id)
    nodes_changed(transaction, zone_id, *moved)


def _check_labels(
    transaction: Transaction, zone_id: str, labels: Mapping[str, str], but: str | None = None
) -> None:
    if not labels:
        raise Invalid.field(
            "body.labels",
            "A pool needs labels; there is one already that takes all nodes that are left.",
            "Name the labels of its nodes.",
        )
    for other in pool_labels(transaction, zone_id):
        if other.labels == labels and other.id != but:
            raise Invalid.field(
                "body.labels", "Another pool has the same labels.", "Use labels that set them apart."
            )


def _check_name(transaction: Transaction, zone_id: str, name: str, but: str = "") -> None:
    others = select(pool.c.name).where(pool.c.zone_id == zone_id, pool.c.id != but)
    for (used_name,) in transaction.rows(others):
        if name_key(used_name) == name_key(name):
            raise conflict("body.name", f"There is already a pool {used_name} here.", "Choose another name.")


def _pool(row: AnyRow, capacity: Capacity, nodes: AnyRow | None) -> Pool:
    stored = dict(row._mapping)  # noqa: SLF001
    counts = {
        "nodes_count": nodes.nodes_count if nodes else 0,
        "simulated": bool(nodes.simulated) if nodes else False,
    }
    return Pool.model_validate({**stored, **counts, "capacity": capacity})


def _subject(transaction: Transaction, made: Pool) -> Subject:
    return Subject("pool", made.id, made.name, root_of(transaction).path)


def _unknown(pool_id: str) -> NotFound:
    return NotFound(f"There is no pool {pool_id}.", "List the pools to find its id.")
