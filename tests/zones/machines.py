"""Machines for tests: what an engine would report, written down."""

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.engines.interface import DeviceFacts, Inventory, NodeFacts
from corral.queues.presets import ensure_presets
from corral.store.database import Transaction
from corral.zones.service import local_zone, record_inventory

GPU_MIB = 81920


def machine(name: str = "big", gpus: int = 8, *, labels: dict[str, str] | None = None) -> Node:
    """64 cores, 512 GiB, and GPUs of 80 GiB."""
    devices = tuple(Device(f"{name}-gpu-{index}", GPU_MIB, "H100-80GB") for index in range(gpus))
    return Node(name, 64_000, 512 * 1024, devices=devices, labels=labels or {})


def see(transaction: Transaction, *nodes: Node, simulated: bool = False) -> str:
    """What the local engine would have reported, and the flavors that come of it; the zone's id."""
    zone = local_zone(transaction)
    facts = {
        node.name: NodeFacts(
            operating_system="Debian",
            disk_mib=1024 * 1024,
            devices={one.id: DeviceFacts("NVIDIA", one.id, simulated) for one in node.devices},
        )
        for node in nodes
    }
    record_inventory(transaction, zone.id, Inventory(1, nodes, facts))
    ensure_presets(transaction, zone.id)
    return zone.id
