"""What is said of work that fits on no empty node is true of that work and of those nodes."""

import pytest

from corral.core.devices import Device, DeviceMode
from corral.core.nodes import Node
from corral.core.plans import Lack, LackKind
from corral.core.workloads import DeviceRequest, Request
from corral.scheduling.explaining.shortfalls import lack_of_one


def node(name: str, gpus: int = 0, mode: DeviceMode = DeviceMode.ANY, **own: object) -> Node:
    devices = tuple(Device(f"{name}-{index}", 16384, "T4", mode) for index in range(gpus))
    return Node(name, **{"cpu_milli": 8000, "memory_mib": 32768, "devices": devices, **own})  # type: ignore[arg-type]


def gpus(count: int, **where: object) -> Request:
    return Request(devices=DeviceRequest(count), **where)  # type: ignore[arg-type]


SMALL = node("small", 4)
TAINTED = node("tainted", 8, taints=("night",))
SHARED = node("shared", 8, DeviceMode.SHARED)


@pytest.mark.parametrize(
    ("request_", "nodes", "expected"),
    [
        (gpus(99), (SMALL,), Lack(LackKind.DEVICES, 99, 4)),
        (gpus(6), (SMALL, TAINTED), Lack(LackKind.DEVICES, 6, 4, restricted=True)),
        (gpus(6), (SMALL, SHARED), Lack(LackKind.USABLE_DEVICES, 6, 4)),
        (gpus(1), (SHARED,), Lack(LackKind.USABLE_DEVICES, 1, 0)),
        (gpus(1), (node("bare"),), Lack(LackKind.DEVICES, 1, 0)),
        (gpus(1), (TAINTED,), Lack(LackKind.TAINTS, names=("night",))),
        (gpus(1, node_labels={"disk": "fast"}), (SMALL,), Lack(LackKind.LABELS, names=("disk=fast",))),
        (gpus(1, nodes=("other",)), (SMALL,), Lack(LackKind.LABELS, names=("other",))),
        (
            gpus(1, nodes=("tainted",)),
            (SMALL, TAINTED),
            Lack(LackKind.TAINTS, names=("night",), restricted=True),
        ),
        (Request(cpu_milli=9000), (SMALL,), Lack(LackKind.CPU_MILLI, 9000, 8000)),
    ],
)
def test_lack_names_what_is_missing(request_: Request, nodes: tuple[Node, ...], expected: Lack) -> None:
    assert lack_of_one(request_, nodes) == expected
