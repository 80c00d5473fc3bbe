"""The pure decision which GPU requests a flavor can be made of."""

from corral.core.refusals import Invalid
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.queues.models import FlavorGpu, Mode

_PLACE = "body.gpu"


def settled_mode(gpu: FlavorGpu) -> Mode:
    """How the devices are shared; refuses what contradicts itself."""
    slices = {"memory_mib": gpu.memory_mib, "fraction_milli": gpu.fraction_milli, "profile": gpu.profile}
    named = [name for name, value in slices.items() if value is not None]
    if len(named) > 1:
        raise Invalid.field(
            f"{_PLACE}.{named[1]}",
            f"A slice is sized by {named[0]} or by {named[1]}, not by both.",
            "Leave one of them out.",
        )
    if gpu.compute_percent and not named:
        raise Invalid.field(
            f"{_PLACE}.compute_percent",
            "A whole GPU always has all of its compute.",
            "Leave it out, or size a slice.",
        )
    if gpu.profile is not None:
        fitting: tuple[Mode, ...] = ("mig",)
    elif named:
        fitting = ("vgpu", "shared")
    else:
        fitting = ("whole",)
    mode = gpu.mode or fitting[0]
    if mode not in fitting:
        raise Invalid.field(
            f"{_PLACE}.mode",
            f"The mode {mode} does not fit this size.",
            f"Use {' or '.join(fitting)}, or leave it out.",
        )
    return mode


def size_of(gpu: FlavorGpu | None) -> tuple[int, int, int]:
    """For the order of a list: how many GPUs, and how much of each."""
    if gpu is None:
        return 0, 0, 0
    if gpu.memory_mib is None and gpu.fraction_milli is None and gpu.profile is None:
        return 2, gpu.count * WHOLE_DEVICE_MILLI, 0
    return 1, gpu.count, gpu.memory_mib or gpu.fraction_milli or 0
