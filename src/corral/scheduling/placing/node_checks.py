"""Fit: the checks that a node has to pass for a request, and which of its devices could serve it."""

from collections.abc import Iterable
from enum import StrEnum

from corral.core.devices import Device
from corral.scheduling.state.request_classes import RequestClass


class Check(StrEnum):
    """The checks in the order in which they are made; explanations count nodes by the first that failed."""

    CORDONED = "cordoned"
    LOST = "lost"
    LABELS = "labels"
    DEVICE_KIND = "device_kind"
    DEVICE_COUNT = "device_count"
    PODS = "pods"
    CPU = "cpu"
    MEMORY = "memory"
    DEVICES = "devices"
    NEIGHBOURS = "neighbours"


def usable_devices(request: RequestClass, devices: Iterable[Device]) -> tuple[int, ...]:
    """The numbers of the devices whose model, mode and size allow the request."""
    return tuple(index for index, device in enumerate(devices) if request.takes_device(device))
