"""What the work of each queue holds and waits for, by pool."""

from collections.abc import Iterable

from sqlalchemy import func, select

from corral.core.devices import slice_milli
from corral.core.resources import WHOLE_DEVICE_MILLI, Amount
from corral.core.workloads import DeviceRequest
from corral.queues.use import Place, Use
from corral.store.database import Transaction
from corral.workloads.documents import DamagedDocumentError, Document, StoredDocument
from corral.workloads.states import OVER, WAITING, State, Wanted
from corral.workloads.tables import allocation, workload
from corral.zones.tables import device, node, pool


def use_of_queues(transaction: Transaction) -> dict[Place, Use]:
    """Held is what allocations say. Waiting work counts in the first pool that it would go to."""
    found = _places_in_use(transaction)
    sizes = _device_sizes(transaction)
    first = _first_pools(transaction)
    rows = transaction.rows(
        select(workload.c.queue_id, workload.c.zone_id, workload.c.spec, workload.c.spec_version).where(
            workload.c.state.in_(sorted(WAITING)), workload.c.wanted == Wanted.RUN
        )
    )
    for row in rows:
        try:
            document = StoredDocument(row.spec, row.spec_version).read(Document)
        except DamagedDocumentError:
            continue  # what it wants is unknown; its own page says that it is damaged
        pool_id = next(iter(document.pool_ids), first.get(row.zone_id))
        if pool_id is not None:
            place = (row.queue_id, pool_id)
            wanted = Use(wanted=_wanted(document, sizes.get(pool_id, [])))
            found[place] = found.get(place, Use()).plus(wanted)
    return found


def names_in_zone(transaction: Transaction, zone_id: str) -> list[str]:
    """Of the work there that is not over, the oldest first; a few of them are enough to say so."""
    c = workload.c
    there = select(c.name).where(c.zone_id == zone_id, c.state.not_in(sorted({*OVER, State.DELETED})))
    return [name for (name,) in transaction.rows(there.order_by(c.id).limit(10))]


def _places_in_use(transaction: Transaction) -> dict[Place, Use]:
    a = allocation.c
    rows = transaction.rows(
        select(
            workload.c.queue_id,
            node.c.pool_id,
            func.sum(a.gpu_milli),
            func.sum(a.cpu_milli),
            func.sum(a.memory_mib),
        )
        .join(workload, workload.c.id == a.workload_id)
        .join(node, (node.c.zone_id == a.zone_id) & (node.c.name == a.node))
        .group_by(workload.c.queue_id, node.c.pool_id)
    )
    return {(queue_id, pool_id): Use(Amount(*map(int, sums))) for queue_id, pool_id, *sums in rows}


def _wanted(document: Document, sizes: Iterable[int]) -> Amount:
    replicas, request = document.replicas, document.resources.request()
    gpu_milli = 0 if request.devices is None else _milli(request.devices, sizes)
    return Amount(gpu_milli * replicas, request.cpu_milli * replicas, request.memory_mib * replicas)


def _milli(request: DeviceRequest, sizes: Iterable[int]) -> int:
    """While it waits, a slice counts by the smallest device that could take it; a MIG profile as a whole."""
    each = WHOLE_DEVICE_MILLI
    if request.fraction_milli is not None:
        each = max(request.fraction_milli, request.compute_percent * WHOLE_DEVICE_MILLI // 100)
    elif request.memory_mib is not None:
        large = [size for size in sizes if size >= request.memory_mib]
        if large:
            each = slice_milli(request.memory_mib, request.compute_percent, min(large))
    return each * request.count


def _device_sizes(transaction: Transaction) -> dict[str, list[int]]:
    rows = transaction.rows(
        select(node.c.pool_id, device.c.memory_mib)
        .join(device, device.c.node_id == node.c.id)
        .where(node.c.state == "ready")
        .distinct()
    )
    sizes: dict[str, list[int]] = {}
    for pool_id, memory_mib in rows:
        sizes.setdefault(pool_id, []).append(memory_mib)
    return sizes


def _first_pools(transaction: Transaction) -> dict[str, str]:
    rows = transaction.rows(select(pool.c.zone_id, func.min(pool.c.id)).group_by(pool.c.zone_id))
    return {row[0]: row[1] for row in rows}
