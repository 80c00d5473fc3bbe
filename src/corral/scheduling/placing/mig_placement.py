"""MIG placement: the instances that a replica gets on a node, each on a device of its own."""

from corral.core.resources import Amount
from corral.scheduling.state.mig_grid import MigAllocation
from corral.scheduling.state.node_state import DeviceState, NodeState
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Spot


def place_mig(
    node: NodeState, devices: list[DeviceState], request: RequestClass, *, rehearsal: bool
) -> tuple[Spot, bool]:
    """A spot with instances on the first of the devices, and whether any of them has to be waited for."""
    profile = request.profile
    assert profile is not None
    uses, mig_allocations = [], []
    milli, waits = 0, False
    for device in devices[: request.count]:
        grid = device.grid
        assert grid is not None
        # In a rehearsal what is leaving has left: the next cycle finds the same place.
        start = None if rehearsal else grid.start(profile, device.free_slices(later=False))
        if start is None:
            start = grid.start(profile, device.free_slices(later=True))
        assert start is not None
        bits = grid.bits(profile, start)
        mib, compute = grid.share(profile, device.memory_mib)
        waits = waits or bool(bits & ~device.free_slices(later=False)) or not device.fits_now(mib, compute)
        uses.append((device.index, mib, compute))
        mig_allocations.append(MigAllocation(device.index, profile, start, bits))
        milli += grid.milli(profile)
    amount = Amount(milli, request.cpu_milli, request.memory_mib)
    return Spot(node.index, tuple(uses), amount, tuple(mig_allocations)), waits
