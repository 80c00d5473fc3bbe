"""MIG: profiles of a device that is cut in hardware, where each may begin, and the usual devices."""

from dataclasses import dataclass

from corral.core.resources import WHOLE_DEVICE_MILLI


@dataclass(frozen=True, slots=True, order=True)
class MigProfile:
    """An instance of it takes `memory_slices` in a row from one of the `starts`, and `compute_slices`."""

    name: str
    memory_slices: int
    compute_slices: int
    starts: tuple[int, ...]


@dataclass(frozen=True, slots=True, order=True)
class MigGeometry:
    """How a device can be cut: its slices of memory and compute, and the profiles it offers."""

    memory_slices: int
    compute_slices: int
    profiles: tuple[MigProfile, ...]

    def profile(self, name: str) -> MigProfile | None:
        return next((profile for profile in self.profiles if profile.name == name), None)

    def milli(self, profile: MigProfile) -> int:
        """What an instance is charged as: the larger of its memory share and compute share, rounded up."""
        return max(
            -(-profile.memory_slices * WHOLE_DEVICE_MILLI // self.memory_slices),
            -(-profile.compute_slices * WHOLE_DEVICE_MILLI // self.compute_slices),
        )


@dataclass(frozen=True, slots=True, order=True)
class MigInstance:
    """An instance that a device has been cut into."""

    profile: str
    start: int


def _seven(*names: str) -> MigGeometry:
    """Eight slices of memory, seven of compute: A100, H100 and their successors."""
    shapes = (
        (1, 1, (0, 1, 2, 3, 4, 5, 6)),
        (2, 1, (0, 2, 4, 6)),
        (2, 2, (0, 2, 4)),
        (4, 3, (0, 4)),
        (4, 4, (0,)),
        (8, 7, (0,)),
    )
    profiles = (MigProfile(name, *shape) for name, shape in zip(names, shapes, strict=True))
    return MigGeometry(8, 7, tuple(profiles))


# The placements that the driver lists (`nvidia-smi mig -lgipp`).
A100_40GB = _seven("1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
A100_80GB = _seven("1g.10gb", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb")
H100_80GB = A100_80GB
A30_24GB = MigGeometry(
    4,
    4,
    (
        MigProfile("1g.6gb", 1, 1, (0, 1, 2, 3)),
        MigProfile("2g.12gb", 2, 2, (0, 2)),
        MigProfile("4g.24gb", 4, 4, (0,)),
    ),
)
