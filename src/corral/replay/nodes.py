"""Nodes from words: `8x8xH100-80GB` is eight nodes of eight devices."""

import re

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.refusals import Invalid

_FORM = re.compile(r"(?P<nodes>\d+)x(?P<devices>\d+)x(?P<model>[A-Za-z][\w.-]*?)-(?P<gib>\d+)G(i?B)?")
_CPU_MILLI_PER_DEVICE = 16_000
_MEMORY_MIB_PER_DEVICE = 131_072
_MOST = 100_000


def make_nodes(
    count: int, devices: int, model: str, memory_mib: int, prefix: str = "node"
) -> tuple[Node, ...]:
    """Equal nodes, with CPU and memory enough for what usually goes with their devices."""
    width = len(str(max(1, count - 1)))
    return tuple(
        Node(
            name=f"{prefix}-{number:0{width}}",
            cpu_milli=max(1, devices) * _CPU_MILLI_PER_DEVICE,
            memory_mib=max(1, devices) * _MEMORY_MIB_PER_DEVICE,
            devices=tuple(Device(f"gpu{index}", memory_mib, model) for index in range(devices)),
        )
        for number in range(count)
    )


def parse_nodes(text: str) -> tuple[Node, ...]:
    """Nodes from words, several kinds joined by commas."""
    nodes: list[Node] = []
    for number, part in enumerate(text.split(",")):
        found = _FORM.fullmatch(part.strip())
        if found is None:
            raise Invalid.field(
                "nodes",
                f"{part.strip()!r} says no nodes.",
                "Write nodes x devices x model - memory, as 8x8xH100-80GB, or name a file.",
            )
        count, devices, gib = (int(found[name]) for name in ("nodes", "devices", "gib"))
        if not (count and gib) or count * max(1, devices) > _MOST:
            raise Invalid.field(
                "nodes",
                f"{part.strip()!r} is {count} nodes with {devices} devices of {gib} GiB.",
                f"Ask for at least one node and at most {_MOST} devices.",
            )
        prefix = "node" if "," not in text else f"{found['model'].lower()}-{number}"
        nodes.extend(make_nodes(count, devices, found["model"], gib * 1024, prefix))
    return tuple(nodes)
