"""What runs, nodes and devices of a simulated zone use: a function of rows and an instant."""

from collections.abc import Collection, Iterable, Mapping

from corral.engines.reports import DeviceUsage, NodeUse, Usage
from corral.engines.simulated_zone import world
from corral.engines.simulated_zone.inventory import Fleet
from corral.engines.simulated_zone.world import RunRow

_MIB = 1024 * 1024
_WHOLE_PERCENT = 100


def usage(
    fleet: Fleet,
    lost: Collection[str],
    rows: Iterable[RunRow],
    chosen: Collection[str] | None,
    retired_cpu_us: Mapping[str, int],
    since: int,
    at: int,
) -> Usage:
    """`rows` are all that were not forgotten; `retired_cpu_us` is what forgotten ones used of each node."""
    runs = {}
    cpu_us = dict(retired_cpu_us)
    memory_mib: dict[str, int] = {}
    devices: dict[tuple[str, str], tuple[int, int]] = {}
    for row in rows:
        if chosen is None or row.run in chosen:
            runs[row.run] = world.counters(row, at)
        cpu_us[row.node] = cpu_us.get(row.node, 0) + world.cpu_us(row, at)
        if world.is_working(row, at):
            memory_mib[row.node] = memory_mib.get(row.node, 0) + row.memory_mib
            for device, _, used in row.devices:
                before, busy = devices.get((row.node, device), (0, 0))
                devices[row.node, device] = before + used, busy + row.gpu_percent
    present = [node for name, node in fleet.nodes.items() if name not in lost]
    nodes = {
        node.name: NodeUse(
            cpu_us.get(node.name, 0),
            (at - since) * node.cpu_milli // 1000,
            memory_mib.get(node.name, 0) * _MIB,
            node.memory_mib * _MIB,
            0,
            fleet.facts[node.name].disk_mib * _MIB,
        )
        for node in present
    }
    samples = tuple(
        DeviceUsage(
            node.name,
            device.id,
            simulated=True,
            busy_percent=min(_WHOLE_PERCENT, devices.get((node.name, device.id), (0, 0))[1]),
            memory_used_mib=devices.get((node.name, device.id), (0, 0))[0],
            memory_total_mib=device.memory_mib,
        )
        for node in present
        for device in node.devices
    )
    return Usage(at, runs, nodes, samples)
