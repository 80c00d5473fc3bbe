"""Shortfalls: the arithmetic of work that does not fit even on empty nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.plans import Lack, LackKind
from corral.core.workloads import DeviceRequest, Request
from corral.scheduling.placing.node_checks import usable_devices
from corral.scheduling.state.request_classes import RequestClass


def lack_of(request: Request, count: int, placed: int, nodes: Sequence[Node]) -> Lack:
    """Why at most `placed` of `count` replicas find room on empty `nodes`, those of the pools open to it."""
    wanted = RequestClass(0, request, ())
    if not nodes:
        return Lack(LackKind.NODES)
    matching = [node for node in nodes if wanted.selects(node)]
    if not matching:
        labels = (f"{key}={value}" for key, value in sorted(request.node_labels.items()))
        return Lack(LackKind.LABELS, names=(*labels, *request.nodes))
    allowed = [node for node in matching if wanted.tolerates(node)]
    if not allowed:
        taints = {taint for node in matching for taint in node.taints} - set(request.tolerates)
        return Lack(LackKind.TAINTS, names=tuple(sorted(taints)), restricted=len(matching) < len(nodes))
    lacks = [*_devices(wanted, allowed), *_sizes(request, allowed)]
    if not lacks and not any(_carries(wanted, node) for node in allowed):
        lacks = [Lack(LackKind.COMBINED)]
    if lacks:
        return replace(lacks[0], restricted=len(allowed) < len(nodes))
    return Lack(LackKind.REPLICAS, count, placed)


def lack_of_one(request: Request, nodes: Sequence[Node]) -> Lack | None:
    """Why not even one such replica finds room on any of empty `nodes`; None where it does."""
    lack = lack_of(request, 1, 0, nodes)
    return None if lack.kind is LackKind.REPLICAS else lack


def _devices(wanted: RequestClass, nodes: Sequence[Node]) -> Iterator[Lack]:
    requested = wanted.request.devices
    if requested is None:
        return
    most = max(len(usable_devices(wanted, node.devices)) for node in nodes)
    if most >= requested.count:
        return
    devices = [device for node in nodes for device in node.devices]
    if not most and devices:
        yield from _kinds(wanted, devices)
    there = max(sum(_is_of_model(requested, device) for device in node.devices) for node in nodes)
    kind = LackKind.DEVICES if most == there else LackKind.USABLE_DEVICES
    yield Lack(kind, requested.count, most, requested.models)


def _kinds(wanted: RequestClass, devices: Sequence[Device]) -> Iterator[Lack]:
    """There are devices, but none that could serve even one of what is asked for."""
    requested = wanted.request.devices
    assert requested is not None
    suited = [device for device in devices if _is_of_model(requested, device)]
    if not suited:
        yield Lack(LackKind.MODELS, names=requested.models)
    elif requested.profile is not None:
        yield Lack(LackKind.PROFILE, names=(requested.profile,))
    elif requested.memory_mib is not None:
        sizes = [device.memory_mib for device in suited if _takes_slices(device)]
        if sizes:
            yield Lack(LackKind.SLICE_MIB, requested.memory_mib, max(sizes), requested.models)
        else:
            yield Lack(LackKind.SHARED)
    elif requested.fraction_milli is not None:
        yield Lack(LackKind.SHARED)


def _is_of_model(requested: DeviceRequest, device: Device) -> bool:
    return not requested.models or device.model in requested.models


def _takes_slices(device: Device) -> bool:
    return RequestClass(0, _SMALLEST, ()).takes_device(device)


def _sizes(request: Request, nodes: Sequence[Node]) -> Iterator[Lack]:
    cpu = max(node.cpu_milli for node in nodes)
    if request.cpu_milli > cpu:
        yield Lack(LackKind.CPU_MILLI, request.cpu_milli, cpu)
    memory = max(node.memory_mib for node in nodes)
    if request.memory_mib > memory:
        yield Lack(LackKind.MEMORY_MIB, request.memory_mib, memory)


def _carries(wanted: RequestClass, node: Node) -> bool:
    return (
        wanted.cpu_milli <= node.cpu_milli
        and wanted.memory_mib <= node.memory_mib
        and node.pods > 0
        and len(usable_devices(wanted, node.devices)) >= wanted.count
    )


_SMALLEST = Request(devices=DeviceRequest(memory_mib=1))
