"""Nodes and devices of a simulated zone, from a short text or a document.

`4x8xH100-80GB,2x4xL4-24GB` are four nodes with eight devices and two with four. A document (YAML or JSON)
says more of each node:

    nodes:
      - name: rack1            # with a count: rack1-1, rack1-2, …
        count: 2
        cpu: 64                # cores; as much as is usual for its devices without it
        memory: 512Gi
        disk: 4Ti
        devices: 8xH100-80GB   # or a list: [{id: gpu0, model: H100-80GB, memory: 80Gi}]
        labels: {rack: r1}
        taints: [maintenance]
        links: nvlink          # or a list: [{one: gpu0, other: gpu1, score: 4}]
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NoReturn

from corral.accelerators import simulated
from corral.core import quantities
from corral.core.devices import Device
from corral.core.nodes import DeviceLink, Node
from corral.core.refusals import Invalid
from corral.engines.interface import DeviceFacts, NodeFacts
from corral.engines.simulated_zone.documents import read_document

FIELD = "description"
MOST_NODES = 20_000
MOST_DEVICES = 200_000
MOST_DEVICES_OF_NODE = 64
MOST_LABELS = 64
MOST_AMOUNT = 2**50
NVLINK_SCORE = 4
NVLINKED_DEVICES = 8
CORES_PER_DEVICE = 16
LEAST_CORES = 8
LEAST_MEMORY_MIB = 64 * 1024
DISK_MIB = 4 * 1024 * 1024
PODS = 250
VENDOR = "simulated"
EXAMPLE = "4x8xH100-80GB"

_SHORT = re.compile(r"\s*([0-9]{1,6})\s*x\s*([0-9]{1,4}\s*x.*)\Z", re.DOTALL)
_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?\Z")
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._/-]{0,118}[A-Za-z0-9])?\Z")
_KEYS = frozenset({"name", "count", "cpu", "memory", "disk", "devices", "labels", "taints", "links"})
_FACTS = DeviceFacts(VENDOR, simulated=True)


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes that differ in their names only."""

    names: tuple[str, ...]
    model: Node
    disk_mib: int


@dataclass(frozen=True)
class Fleet:
    """All nodes of a zone. They are made when they are asked for: there may be thousands."""

    groups: tuple[Group, ...]

    @cached_property
    def nodes(self) -> dict[str, Node]:
        return {name: _named(group.model, name) for group in self.groups for name in group.names}

    @cached_property
    def facts(self) -> dict[str, NodeFacts]:
        return {name: facts for group in self.groups for facts in [_facts(group)] for name in group.names}

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(name for group in self.groups for name in group.names)

    @cached_property
    def device_mib(self) -> dict[str, Mapping[str, int]]:
        """By node, the memory of its devices."""
        return {
            name: mib
            for group in self.groups
            for mib in [{device.id: device.memory_mib for device in group.model.devices}]
            for name in group.names
        }


def parse(description: str) -> Fleet:
    """Raises `Invalid`, which names the part that is wrong and what to write instead."""
    text = description.strip()
    if not text:
        _refuse(FIELD, "No nodes are described.", f"Write them like {EXAMPLE}: nodes x devices x model.")
    groups = _bounded(_from_document(text) if _is_document(text) else _from_short(text))
    names = Counter(name for group in groups for name in group.names)
    name, times = names.most_common(1)[0]
    if times > 1:
        _refuse(FIELD, f"{times} nodes are named {name}.", "Give every node a name of its own.")
    return Fleet(tuple(groups))


def _bounded(groups: Iterable[Group]) -> list[Group]:
    """Counts group by group: a text of 2,000 characters can name millions of nodes."""
    kept: list[Group] = []
    nodes = devices = 0
    for group in groups:
        kept.append(group)
        nodes += len(group.names)
        devices += len(group.names) * len(group.model.devices)
        for count, most, what in ((nodes, MOST_NODES, "nodes"), (devices, MOST_DEVICES, "devices")):
            if count > most:
                _refuse(FIELD, f"{count} {what} are more than a zone can have.", f"Describe at most {most}.")
    return kept


# The short text


def _is_document(text: str) -> bool:
    return ":" in text or "\n" in text or text[0] in "{["


def _from_short(text: str) -> Iterator[Group]:
    numbers: Counter[str] = Counter()
    for part in (part.strip() for part in text.split(",")):
        match = _SHORT.match(part)
        if match is None or int(match[1]) == 0:
            _refuse(
                FIELD,
                f"{part!r} does not describe nodes.",
                f"Write nodes x devices x model, like {EXAMPLE}; separate groups by commas.",
            )
        devices = _devices_from_text(match[2], FIELD, f"{part!r}")
        name = re.sub(r"[^a-z0-9]+", "-", devices[0].model.lower()).strip("-")[:40]
        count = _bounded_count(int(match[1]), FIELD)
        names = tuple(f"{name}-{numbers[name] + index + 1}" for index in range(count))
        numbers[name] += count
        yield Group(names, _usual(devices), DISK_MIB)


def _devices_from_text(text: str, field: str, shown: str) -> tuple[Device, ...]:
    try:
        found = simulated.parse(re.sub(r"\s", "", text))
    except Invalid:
        found = ()
    if not found or "," in text:
        _refuse(field, f"{shown} does not name devices.", "Write devices x model-memory, like 8xH100-80GB.")
    if len(found) > MOST_DEVICES_OF_NODE:
        _refuse(
            field,
            f"{shown} has {len(found)} devices in one node.",
            f"A node has at most {MOST_DEVICES_OF_NODE}; describe more nodes.",
        )
    return tuple(Device(f"gpu{one.index}", one.memory_mib, one.model) for one in found)


def _usual(devices: Sequence[Device]) -> Node:
    """A node with as much CPU and memory as machines with such devices have."""
    memory_mib = max(LEAST_MEMORY_MIB, 2 * sum(device.memory_mib for device in devices))
    links = _nvlink(devices) if len(devices) == NVLINKED_DEVICES else ()
    cores = max(LEAST_CORES, CORES_PER_DEVICE * len(devices))
    return Node("", cores * 1000, memory_mib, PODS, tuple(devices), links=links)


def _nvlink(devices: Sequence[Device]) -> tuple[DeviceLink, ...]:
    return tuple(DeviceLink(one.id, other.id, NVLINK_SCORE) for one, other in combinations(devices, 2))


# The document


def _from_document(text: str) -> Iterator[Group]:
    document = read_document(text, FIELD)
    entries = document.get("nodes") if isinstance(document, dict) else document
    unknown = sorted(map(str, document.keys() - {"nodes"})) if isinstance(document, dict) else []
    if unknown:
        _refuse(
            f"{FIELD}.{unknown[0]}", f"{unknown[0]} is not known here.", "Write nodes, and nothing beside."
        )
    if not isinstance(entries, list) or not entries:
        _refuse(f"{FIELD}.nodes", "No nodes are described.", "Write a list of nodes under nodes.")
    if len(entries) > MOST_NODES:
        _bounded_count(len(entries), f"{FIELD}.nodes")
    for index, entry in enumerate(entries):
        yield _group(entry, f"{FIELD}.nodes[{index}]")


def _group(entry: Any, field: str) -> Group:
    if not isinstance(entry, dict):
        _refuse(field, "A node is described by its fields.", "Write name, devices, cpu and memory.")
    for key in entry:
        if key not in _KEYS:
            _refuse(f"{field}.{key}", f"{key} is not known here.", f"Known are {', '.join(sorted(_KEYS))}.")
    devices = _devices(entry.get("devices", []), f"{field}.devices")
    usual = _usual(devices)
    links = usual.links if "links" not in entry else _links(entry["links"], devices, f"{field}.links")
    cpu_milli = _amount(entry, "cpu", field, quantities.millicores, usual.cpu_milli)
    memory_mib = _amount(entry, "memory", field, quantities.mebibytes, usual.memory_mib)
    labels, taints = _labels(entry.get("labels", {}), field), _taints(entry.get("taints", []), field)
    node = Node("", cpu_milli, memory_mib, PODS, devices, labels, taints, links=links)
    return Group(_names(entry, field), node, _amount(entry, "disk", field, quantities.mebibytes, DISK_MIB))


def _names(entry: Mapping[str, Any], field: str) -> tuple[str, ...]:
    name = entry.get("name")
    if not isinstance(name, str) or not _NAME.match(name):
        _refuse(
            f"{field}.name",
            "A node needs a name." if name is None else f"{str(name)[:80]!r} is no name of a node.",
            "Use at most 63 lower-case letters, digits, dots and hyphens, like rack1-a.",
        )
    if "count" not in entry:
        return (name,)
    count = entry["count"]
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        _refuse(
            f"{field}.count", f"{str(count)[:80]!r} is no number of nodes.", "Write a whole number from 1."
        )
    return tuple(f"{name}-{index + 1}" for index in range(_bounded_count(count, f"{field}.count")))


def _devices(value: Any, field: str) -> tuple[Device, ...]:
    if isinstance(value, str):
        return _devices_from_text(value, field, repr(value[:80]))
    if not isinstance(value, list) or len(value) > MOST_DEVICES_OF_NODE:
        _refuse(
            field,
            "Devices are a text like 8xH100-80GB, or a list.",
            f"List at most {MOST_DEVICES_OF_NODE} devices of a node, each with model and memory.",
        )
    devices = tuple(_device(one, index, f"{field}[{index}]") for index, one in enumerate(value))
    if len({device.id for device in devices}) < len(devices):
        _refuse(field, "Two devices have the same id.", "Give every device of a node an id of its own.")
    return devices


def _device(value: Any, index: int, field: str) -> Device:
    if not isinstance(value, dict) or not value.keys() <= {"id", "model", "memory"}:
        _refuse(field, "A device has a model and a memory, and may have an id.", "Write model and memory.")
    identifier, model = value.get("id", f"gpu{index}"), value.get("model", "")
    for key, text in (("id", identifier), ("model", model)):
        if not isinstance(text, str) or not _LABEL.match(text):
            _refuse(
                f"{field}.{key}", f"{str(text)[:80]!r} is no {key}.", "Use letters, digits, '-', '_', '.'."
            )
    memory_mib = _amount(value, "memory", field, quantities.mebibytes, None)
    return Device(identifier, memory_mib, model)


def _links(value: Any, devices: Sequence[Device], field: str) -> tuple[DeviceLink, ...]:
    if value == "nvlink":
        return _nvlink(devices)
    device_ids = {device.id for device in devices}
    links = []
    for index, one in enumerate(value if isinstance(value, list) else [None]):
        match one:
            case {"one": str(a), "other": str(b), "score": int(score)} if {a, b} <= device_ids and a != b:
                links.append(DeviceLink(a, b, min(max(score, 0), 1000)))
            case _:
                _refuse(
                    f"{field}[{index}]" if isinstance(value, list) else field,
                    "A link joins two devices of the node.",
                    "Write nvlink, or a list of {one: gpu0, other: gpu1, score: 4}.",
                )
    return tuple(links)


def _labels(value: Any, field: str) -> dict[str, str]:
    if not isinstance(value, dict) or len(value) > MOST_LABELS:
        _refuse(f"{field}.labels", "Labels are names with values.", f"Write at most {MOST_LABELS} of them.")
    for key, text in value.items():
        if not all(isinstance(one, str) and _LABEL.match(one) for one in (key, text)):
            _refuse(
                f"{field}.labels.{str(key)[:80]}",
                "It is no label.",
                "Use letters, digits, '-', '_', '.', '/' and quotes around numbers.",
            )
    return dict(value)


def _taints(value: Any, field: str) -> tuple[str, ...]:
    texts = value if isinstance(value, list) and len(value) <= MOST_LABELS else [None]
    if not all(isinstance(one, str) and _LABEL.match(one) for one in texts):
        _refuse(f"{field}.taints", "Taints are a list of names.", f"Write at most {MOST_LABELS} of them.")
    return tuple(texts)


def _amount(entry: Mapping[str, Any], key: str, field: str, read: Any, usual: int | None) -> int:
    if key not in entry and usual is not None:
        return usual
    try:
        amount = int(read(quantities.written(entry.get(key))))
    except ValueError as error:
        _refuse(f"{field}.{key}", f"{key}: {error}.", "Write cpu: 64, memory: 512Gi, disk: 4Ti.")
    if not 0 < amount <= MOST_AMOUNT:
        _refuse(f"{field}.{key}", f"{key} is out of bounds.", "Write an amount that a machine can have.")
    return amount


def _bounded_count(count: int, field: str) -> int:
    if count > MOST_NODES:
        _refuse(field, f"{count} nodes are more than a zone can have.", f"Describe at most {MOST_NODES}.")
    return count


def _refuse(field: str, message: str, remedy: str) -> NoReturn:
    raise Invalid.field(field, message, remedy)


# What the engine gives


def _named(model: Node, name: str) -> Node:
    return Node(
        name,
        model.cpu_milli,
        model.memory_mib,
        model.pods,
        model.devices,
        model.labels,
        model.taints,
        links=model.links,
    )


def _facts(group: Group) -> NodeFacts:
    return NodeFacts(
        operating_system="simulated",
        architecture="simulated",
        cpu_model="simulated",
        disk_mib=group.disk_mib,
        devices={device.id: _FACTS for device in group.model.devices},
        isolation="nothing runs here: this node is simulated",
        notes=("This node is simulated.",),
    )
