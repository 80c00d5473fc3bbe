"""Classes of requests: replicas that ask for the same are fitted and scored once."""

from collections.abc import Iterable

from corral.core.devices import Device, DeviceMode, slice_milli
from corral.core.nodes import Node
from corral.core.resources import WHOLE_DEVICE_MILLI, Amount
from corral.core.workloads import Affinity, Request
from corral.scheduling.state.mig_grid import mig_grid_of

type_key = tuple[object, ...]
_WHOLE = {DeviceMode.ANY, DeviceMode.WHOLE}
_SLICED = {DeviceMode.ANY, DeviceMode.SHARED}
_CUT = {DeviceMode.ANY, DeviceMode.MIG}


class RequestClass:
    """A request prepared for fitting. `amount` is what it counts while it is pending."""

    __slots__ = (
        "affinity",
        "amount",
        "compute_percent",
        "count",
        "cpu_milli",
        "fraction_milli",
        "index",
        "memory_mib",
        "profile",
        "request",
        "slice_mib",
        "sliced",
    )

    def __init__(self, index: int, request: Request, kinds: Iterable[Device]) -> None:
        wanted = request.devices
        self.index = index
        self.request = request
        self.affinity = request.affinity
        self.cpu_milli = request.cpu_milli
        self.memory_mib = request.memory_mib
        self.count = wanted.count if wanted else 0
        self.slice_mib = wanted.memory_mib if wanted else None
        self.fraction_milli = wanted.fraction_milli if wanted else None
        self.compute_percent = wanted.compute_percent if wanted else 0
        self.profile = wanted.profile if wanted else None
        self.sliced = (self.slice_mib, self.fraction_milli, self.profile) != (None, None, None)
        self.amount = Amount(self.count * self._pending_milli(kinds), self.cpu_milli, self.memory_mib)

    @property
    def has_selector(self) -> bool:
        """Whether it names nodes or labels."""
        return bool(self.request.nodes or self.request.node_labels)

    def share_of(self, device: Device) -> tuple[int, int]:
        """MiB and compute % that it takes of each device like this one."""
        if self.profile is not None and (grid := mig_grid_of(device)) is not None:
            return grid.share(self.profile, device.memory_mib)
        return self.slice_on(device.memory_mib) if self.sliced else (device.memory_mib, 100)

    def slice_on(self, device_memory_mib: int) -> tuple[int, int]:
        """MiB and compute % that one slice takes of a device of this size."""
        if self.fraction_milli is not None:
            mib = max(1, device_memory_mib * self.fraction_milli // WHOLE_DEVICE_MILLI)
            return mib, max(self.compute_percent, self.fraction_milli * 100 // WHOLE_DEVICE_MILLI)
        return self.slice_mib or 0, self.compute_percent

    def charged(self, gpu_milli: int) -> Amount:
        """What a replica is charged where its devices come to so many milli-GPU: mostly what it asked for."""
        amount = self.amount
        return amount if amount[0] == gpu_milli else Amount(gpu_milli, amount[1], amount[2])

    def charge(self, device_memory_mib: int) -> int:
        """Milli-GPU of one slice, or whole device, on a device of this size."""
        if not self.sliced:
            return WHOLE_DEVICE_MILLI
        if self.fraction_milli is not None:
            return max(self.fraction_milli, self.compute_percent * WHOLE_DEVICE_MILLI // 100)
        mib, compute = self.slice_on(device_memory_mib)
        return slice_milli(mib, compute, device_memory_mib)

    def covers(self, other: "RequestClass") -> bool:
        """Whether the other fits wherever this one does; of slices only the same is sure to."""
        if self is other:
            return True
        own, theirs = self.request, other.request
        alike = (
            not self.sliced
            and not other.sliced
            and own.node_labels == theirs.node_labels
            and (own.nodes, own.tolerates) == (theirs.nodes, theirs.tolerates)
            and (not other.count or self.models == other.models)
        )
        return (
            alike
            and self.count >= other.count
            and self.cpu_milli >= other.cpu_milli
            and self.memory_mib >= other.memory_mib
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The models that it may have; none named means any."""
        return self.request.devices.models if self.request.devices is not None else ()

    @property
    def prefers_local_files(self) -> bool:
        """Whether there is data or an image that it would like to find on its node."""
        return bool(self.request.data or self.request.images)

    def missing_on(self, node: Node) -> int:
        """How many of the data and images that it wants a node does not have."""
        request = self.request
        return len(set(request.data) - set(node.data)) + len(set(request.images) - set(node.images))

    def charge_on(self, device: Device) -> int:
        """Milli-GPU of one slice, instance or whole device; more than there are where it cannot be had."""
        if not self.takes_device(device):
            return WHOLE_DEVICE_MILLI + 1
        if self.profile is not None and (grid := mig_grid_of(device)) is not None:
            return grid.milli(self.profile)
        return self.charge(device.memory_mib)

    def takes_device(self, device: Device) -> bool:
        """Whether a device of this model, mode and size could serve one slice or whole."""
        wanted = self.request.devices
        if wanted is None or (wanted.models and device.model not in wanted.models):
            return False
        if self.profile is not None:
            grid = mig_grid_of(device) if device.mode in _CUT else None
            return grid is not None and grid.offers(self.profile)
        if not self.sliced:
            return device.mode in _WHOLE
        if device.mode in _SLICED and (device.geometry is None or device.mode is DeviceMode.SHARED):
            return self.slice_mib is None or self.slice_mib <= device.memory_mib
        return False

    def allowed_on(self, node: Node) -> bool:
        """Labels, taints and named nodes."""
        return self.selects(node) and self.tolerates(node)

    def selects(self, node: Node) -> bool:
        """Whether a node has the labels and the name that the request asks for."""
        request = self.request
        if request.nodes and node.name not in request.nodes:
            return False
        return all(node.labels.get(key) == value for key, value in request.node_labels.items())

    def tolerates(self, node: Node) -> bool:
        return all(taint in self.request.tolerates for taint in node.taints)

    def _pending_milli(self, kinds: Iterable[Device]) -> int:
        """By the smallest device that could take it, when the size decides."""
        usable = [device for device in kinds if self.takes_device(device)]
        return max((self.charge_on(device) for device in usable), default=WHOLE_DEVICE_MILLI)


def request_key(request: Request) -> type_key:
    """Equal for requests that ask for the same."""
    if not (request.node_labels or request.data or request.images or request.affinity):
        devices = request.devices
        if devices is None:
            return request.cpu_milli, request.memory_mib, request.nodes, request.tolerates
        return (
            request.cpu_milli,
            request.memory_mib,
            request.nodes,
            request.tolerates,
            devices.count,
            devices.memory_mib,
            devices.fraction_milli,
            devices.compute_percent,
            devices.models,
            devices.profile,
        )
    return (
        request.cpu_milli,
        request.memory_mib,
        request.devices,
        tuple(sorted(request.node_labels.items())),
        request.nodes,
        request.tolerates,
        tuple(sorted(request.data)),
        tuple(sorted(request.images)),
        tuple(affinity_key(affinity) for affinity in request.affinity),
    )


def affinity_key(affinity: Affinity) -> type_key:
    """Equal for affinities that ask for the same."""
    return (
        affinity.kind,
        tuple(sorted(affinity.labels.items())),
        affinity.level,
        affinity.topology,
        affinity.required,
        affinity.weight,
    )
