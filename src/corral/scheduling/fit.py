"""Fit: which checks a node passes for a class of requests, now or when what is leaving has left."""

from collections.abc import Iterable
from enum import StrEnum

from corral.core.devices import Device
from corral.scheduling.board import DeviceState, NodeState
from corral.scheduling.carve import has_place
from corral.scheduling.requests import RequestClass


class Check(StrEnum):
    """The checks in the order in which they are made; explanations count nodes by the first that failed."""

    LABELS = "labels"
    DEVICE_KIND = "device_kind"
    PODS = "pods"
    CPU = "cpu"
    MEMORY = "memory"
    DEVICES = "devices"
    NEIGHBOURS = "neighbours"


def usable_devices(request: RequestClass, devices: Iterable[Device]) -> tuple[int, ...]:
    """The numbers of the devices whose model, mode and size allow the request."""
    return tuple(index for index, device in enumerate(devices) if request.takes_device(device))


def totals_fit(node: NodeState, request: RequestClass) -> tuple[bool, bool]:
    """Whether CPU, memory and pods suffice (now, later); now implies later."""
    used, leaving, promised, size = node.used, node.leaving, node.promised, node.size
    asked = (request.cpu_milli, request.memory_mib, 1)
    now = True
    for kind in range(3):
        later = used[kind] - leaving[kind] + promised[kind] + asked[kind]
        if later > size[kind]:
            return False, False
        now = now and used[kind] + asked[kind] <= size[kind]
    return now, True


def fitting_devices(
    node: NodeState, usable: tuple[int, ...], request: RequestClass, *, later: bool
) -> list[DeviceState]:
    """The usable devices of a node with room for one slice, or for the whole."""
    devices = [node.devices[index] for index in usable]
    if not request.sliced:
        if later:
            return [device for device in devices if device.free_later]
        return [device for device in devices if device.free_now]
    if request.profile is not None:
        return [device for device in devices if has_place(device, request.profile, later=later)]
    found = []
    for device in devices:
        mib, compute = request.slice_on(device.memory_mib)
        if device.fits_later(mib, compute) if later else device.fits_now(mib, compute):
            found.append(device)
    return found


def first_failed(node: NodeState, usable: tuple[int, ...], request: RequestClass) -> Check | None:
    """Which check stops the request on this node, even if it waited for what is leaving."""
    if not request.allowed_on(node.node):
        return Check.LABELS
    if len(usable) < request.count:
        return Check.DEVICE_KIND
    held = [node.used[kind] - node.leaving[kind] + node.promised[kind] for kind in range(3)]
    if held[2] + 1 > node.size[2]:
        return Check.PODS
    if held[0] + request.cpu_milli > node.size[0]:
        return Check.CPU
    if held[1] + request.memory_mib > node.size[1]:
        return Check.MEMORY
    if request.count and len(fitting_devices(node, usable, request, later=True)) < request.count:
        return Check.DEVICES
    return None
