"""Checks of holds: windows, owners, and that no more is held than there is."""

from collections.abc import Iterator

from corral.core.devices import Device
from corral.core.holds import HeldPlace, Hold
from corral.core.nodes import Node
from corral.core.refusals import FieldError
from corral.scheduling.validate.check_helpers import numbered, quantities, unique
from corral.scheduling.validate.check_mig import MigChecker
from corral.scheduling.validate.snapshot import Snapshot


def check_holds(snapshot: Snapshot, devices_of_pool: dict[str, int]) -> Iterator[FieldError]:
    """`devices_of_pool` says how many devices each pool has."""
    yield from unique("holds", (hold.name for hold in snapshot.holds))
    queues = {queue.name for queue in snapshot.queues}
    workloads = {workload.name for workload in snapshot.workloads}
    nodes = {node.name: node for node in snapshot.nodes}
    for place, hold in numbered("holds", snapshot.holds):
        yield from quantities(place, starts_at=hold.starts_at, devices=hold.devices)
        if hold.ends_at is not None and hold.ends_at <= hold.starts_at:
            yield FieldError(f"{place}.ends_at", "It ends before it begins.", "Let it end after its start.")
        if hold.queue is not None and hold.queue not in queues:
            yield FieldError(f"{place}.queue", f"There is no queue {hold.queue!r}.", "Name a queue.")
        if hold.workload is not None and hold.workload not in workloads:
            yield FieldError(f"{place}.workload", f"There is no workload {hold.workload!r}.", "Name one.")
        if hold.queue is not None and hold.workload is not None:
            yield FieldError(place, "It is for a queue and for a workload.", "Name one of the two.")
        yield from _what(place, hold, devices_of_pool)
        for at, reserved in numbered(f"{place}.places", hold.places):
            node = nodes.get(reserved.node)
            if node is None:
                yield FieldError(f"{at}.node", f"There is no node {reserved.node!r}.", "Name a node.")
            else:
                yield from _place(at, reserved, node, MigChecker(snapshot))


def _what(place: str, hold: Hold, devices_of_pool: dict[str, int]) -> Iterator[FieldError]:
    if bool(hold.places) == (hold.pool is not None):
        yield FieldError(
            place, "It holds either places or devices of a pool.", "Give it one of the two, not both."
        )
    if hold.pool is None:
        if hold.devices:
            yield FieldError(f"{place}.devices", "It names no pool for its devices.", "Name a pool.")
    elif hold.pool not in devices_of_pool:
        yield FieldError(f"{place}.pool", f"There is no pool {hold.pool!r}.", "Name a pool.")
    elif not 1 <= hold.devices <= devices_of_pool[hold.pool]:
        yield FieldError(
            f"{place}.devices",
            f"It holds {hold.devices} devices and the pool has {devices_of_pool[hold.pool]}.",
            "Hold at least one, and no more than there are.",
        )


def _place(place: str, reserved: HeldPlace, node: Node, mig: MigChecker) -> Iterator[FieldError]:
    for name, number, most in (
        ("cpu_milli", reserved.cpu_milli, node.cpu_milli),
        ("memory_mib", reserved.memory_mib, node.memory_mib),
    ):
        if not 0 <= number <= most:
            yield FieldError(
                f"{place}.{name}", f"{number} is not between 0 and the {most} of {node.name!r}.", "Hold less."
            )
    yield from unique(f"{place}.devices", (use.device for use in reserved.devices), "device")
    devices: dict[str, Device] = {device.id: device for device in node.devices}
    for at, use in numbered(f"{place}.devices", reserved.devices):
        device = devices.get(use.device)
        if device is None:
            yield FieldError(f"{at}.device", f"{node.name!r} has no device {use.device!r}.", "Name one.")
        elif use.memory_mib is not None and not 1 <= use.memory_mib <= device.memory_mib:
            yield FieldError(
                f"{at}.memory_mib", "It is not between 1 and the device's memory.", "Hold less of it."
            )
        else:
            yield from mig.check_use(at, use, node.name, device, use.profile)
