"""A zone as the scheduler sees it: its pools and nodes.

Pools are named by their ids and hold the nodes that are theirs in the tables; nodes and devices are named as
the engine names them.
"""

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from corral.core.devices import Device, DeviceMode
from corral.core.mig import MigGeometry, MigInstance, MigProfile
from corral.core.nodes import CORDONED, LOST, Arrangement, DeviceLink, Node, Pool, Topology
from corral.store.database import Transaction
from corral.store.piecewise import read_piecewise
from corral.zones.rows import DeviceRow, NodeRow, PoolRow
from corral.zones.rules import DeviceHealth, takes_slices
from corral.zones.tables import device, node, pool

# On every node and pool of a snapshot, whatever the engine calls it.
POOL_LABEL = "corral.pool"


@dataclass(frozen=True, slots=True)
class Ground:
    """What a zone has to place work on.

    `dormant` are nodes that are lost or cordoned or have faulty devices, as they may be again.
    """

    pools: tuple[Pool, ...]
    nodes: tuple[Node, ...]
    dormant: tuple[Node, ...] = ()


def pools_and_nodes(
    transaction: Transaction, zone_id: str, in_use: Collection[tuple[str, str | None]] = ()
) -> Ground:
    """The zone's pools, and its nodes with the devices that work can be placed on.

    Cordoned nodes carry a taint, so that what runs there stays and nothing new comes. Lost nodes and devices
    that are not healthy are left out, unless they are `in_use`: names of a node and a device (None: the node
    alone) on which something is still accounted for.
    """
    held_nodes = {name for name, _ in in_use}
    of_pools = select(pool).where(pool.c.zone_id == zone_id).order_by(pool.c.id)
    of_nodes = select(node).where(node.c.zone_id == zone_id).order_by(node.c.name)
    pools = [PoolRow._make(row) for row in transaction.rows(of_pools)]
    nodes = [NodeRow._make(row) for row in transaction.rows(of_nodes)]
    devices: dict[str, list[DeviceRow]] = {}
    of_zone = (
        select(device)
        .join(node, node.c.id == device.c.node_id)
        .where(node.c.zone_id == zone_id)
        .order_by(device.c.node_id, device.c.index, device.c.id)
    )
    for one in map(DeviceRow._make, transaction.rows(of_zone)):
        devices.setdefault(one.node_id, []).append(one)
    slicing = {row.id for row in pools if takes_slices(row.least_strength)}

    def devices_of(row: NodeRow, *, whole: bool) -> tuple[Device, ...]:
        return tuple(
            _device(one, slices=row.pool_id in slicing)
            for one in devices.get(row.id, ())
            if one.health == DeviceHealth.HEALTHY
            or (one.health == DeviceHealth.FAULTY if whole else (row.name, one.id) in in_use)
        )

    return Ground(
        tuple(_pool(row) for row in pools),
        tuple(
            _node(row, devices_of(row, whole=False), _taints(row))
            for row in nodes
            if row.state == "ready" or row.name in held_nodes
        ),
        tuple(
            _node(row, devices_of(row, whole=True), tuple(row.taints))
            for row in nodes
            if _is_dormant(row, devices.get(row.id, ()))
        ),
    )


def shapes(transaction: Transaction, zone_id: str) -> tuple[Node, ...]:
    """One empty node, without a name, of each kind that the zone has: what work could ever be placed on.

    Nodes that are lost or cordoned count, and so do faulty devices: they may come back.
    """
    pools = transaction.rows(select(pool.c.id, pool.c.least_strength).where(pool.c.zone_id == zone_id))
    slicing = {row.id for row in pools if takes_slices(row.least_strength)}
    devices: dict[str, list[Device]] = {}
    for row in transaction.rows(
        select(node.c.pool_id, device)
        .join(node, node.c.id == device.c.node_id)
        .where(node.c.zone_id == zone_id, device.c.health != DeviceHealth.OFFLINE)
        .order_by(device.c.node_id, device.c.model, device.c.mode, device.c.memory_mib)
    ):
        pool_id, *values = row
        one = DeviceRow._make(values)
        devices.setdefault(one.node_id, []).append(_device(one, slices=pool_id in slicing))
    c = node.c
    found: dict[Hashable, Node] = {}
    for row in transaction.rows(
        select(c.id, c.cpu_milli, c.memory_mib, c.pods, c.taints).where(c.zone_id == zone_id)
    ):
        there, taints = tuple(devices.get(row.id, ())), tuple(row.taints)
        kinds = tuple(each.kind for each in there)
        found[row.cpu_milli, row.memory_mib, row.pods, taints, kinds] = Node(
            "", row.cpu_milli, row.memory_mib, row.pods, there, taints=taints
        )
    return tuple(found.values())


def damaged(transaction: Transaction, zone_id: str) -> list[str]:
    """Pools, nodes and devices of a zone whose rows cannot be read or make no sense, as words."""
    pool_ids = transaction.rows(select(pool.c.id, pool.c.name).where(pool.c.zone_id == zone_id))
    node_ids = transaction.rows(select(node.c.id, node.c.name).where(node.c.zone_id == zone_id))
    names = {row.id: row.name for row in node_ids}
    device_ids = transaction.rows(
        select(device.c.node_id, device.c.id).where(device.c.node_id.in_(sorted(names)))
    )

    def devices(some: Sequence[str]) -> list[Device]:
        chosen = [one.split("\n") for one in some]
        return [
            _device(DeviceRow._make(row), slices=True)
            for node_id, device_id in chosen
            for row in transaction.rows(
                select(device).where(device.c.node_id == node_id, device.c.id == device_id)
            )
        ]

    _, pools = read_piecewise(
        [row.id for row in pool_ids],
        lambda some: [
            _pool(PoolRow._make(row)) for row in transaction.rows(select(pool).where(pool.c.id.in_(some)))
        ],
    )
    _, nodes = read_piecewise(
        list(names),
        lambda some: [
            _node(row, (), _taints(row))
            for row in map(NodeRow._make, transaction.rows(select(node).where(node.c.id.in_(some))))
        ],
    )
    _, others = read_piecewise([f"{row.node_id}\n{row.id}" for row in device_ids], devices)
    return [
        *(f"the pool {row.name}" for row in pool_ids if row.id in pools),
        *(f"the node {names[one]}" for one in nodes),
        *(f"the device {one.split(chr(10))[1]} of {names[one.split(chr(10))[0]]}" for one in others),
    ]


def _is_dormant(row: NodeRow, devices: Iterable[DeviceRow]) -> bool:
    return row.cordoned or row.state == "lost" or any(one.health != DeviceHealth.HEALTHY for one in devices)


def _pool(row: PoolRow) -> Pool:
    return Pool(
        name=row.id,
        labels={POOL_LABEL: row.id},
        arrangement=Arrangement(row.arrangement),
        unit_gpu_milli=row.unit_gpu_milli,
        priority_across_queues=row.priority_across_queues,
        topologies=tuple(Topology(one["name"], tuple(one["levels"])) for one in row.topologies),
        reservations=row.reservations,
    )


def _taints(row: NodeRow) -> tuple[str, ...]:
    """Its own, and what keeps new work away for now."""
    conditions = (CORDONED, row.cordoned), (LOST, row.state == "lost")
    return (*row.taints, *(taint for taint, holds in conditions if holds))


def _node(row: NodeRow, devices: tuple[Device, ...], taints: tuple[str, ...]) -> Node:
    there = {one.id for one in devices}
    return Node(
        name=row.name,
        cpu_milli=row.cpu_milli,
        memory_mib=row.memory_mib,
        pods=row.pods,
        devices=devices,
        labels={**row.labels, POOL_LABEL: row.pool_id},
        taints=taints,
        data=tuple(row.data),
        images=tuple(row.images),
        links=tuple(
            DeviceLink(**link) for link in row.links if link["one"] in there and link["other"] in there
        ),
    )


def _device(row: DeviceRow, *, slices: bool) -> Device:
    """Where the pool wants more than slices have, there are none: what is held stays, nothing is added."""
    mode = DeviceMode(row.mode)
    if not slices and row.geometry is None:
        mode = DeviceMode.WHOLE
    return Device(
        id=row.id,
        memory_mib=row.memory_mib,
        model=row.model,
        mode=mode,
        geometry=None if row.geometry is None else _geometry(row.geometry),
        instances=None if row.instances is None else tuple(MigInstance(**one) for one in row.instances),
    )


def _geometry(stored: dict[str, Any]) -> MigGeometry:
    profiles = ({**profile, "starts": tuple(profile["starts"])} for profile in stored["profiles"])
    return MigGeometry(
        stored["memory_slices"], stored["compute_slices"], tuple(MigProfile(**one) for one in profiles)
    )
