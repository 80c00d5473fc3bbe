"""Simulated devices: "8xH100-80GB", "2xA100-40GB,4xT4-16GB". They compute nothing."""

import re

from corral.accelerators.device import Device
from corral.core.refusals import Invalid

MOST_DEVICES = 1024
_GROUP = re.compile(r"(\d{1,4})x([A-Za-z0-9][A-Za-z0-9 _.-]*?)-(\d{1,5})(GB|GiB)\Z")
_VENDOR = "simulated"


def parse(text: str) -> tuple[Device, ...]:
    """The devices in the order they are named. A GB of a device's name is 1024 MiB, as vendors count."""
    devices: list[Device] = []
    for group in filter(None, (part.strip() for part in text.split(","))):
        match = _GROUP.match(group)
        if match is None or int(match[1]) == 0 or int(match[3]) == 0:
            raise Invalid.field(
                "simulated_gpus", f"{group!r} does not name devices.", "Write it like 8xH100-80GB,2xT4-16GB."
            )
        for _ in range(int(match[1])):
            index = len(devices)
            uuid = f"simulated-{index}"
            devices.append(Device(_VENDOR, f"{match[2]}-{match[3]}GB", int(match[3]) * 1024, uuid, index))
        if len(devices) > MOST_DEVICES:
            raise Invalid.field(
                "simulated_gpus", f"More than {MOST_DEVICES} devices.", f"Name at most {MOST_DEVICES}."
            )
    return tuple(devices)
