"""Claims and holds: what the last cycle promised, and what is kept for a time known beforehand."""

from dataclasses import dataclass

from corral.core.devices import DeviceUse


@dataclass(frozen=True, slots=True)
class Claim:
    """A promise of the last cycle, or with `at` a reservation.

    It gives no precedence: it is renewed, or dropped with a reason.
    """

    workload: str
    replica: str
    node: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class HeldPlace:
    """Devices or slices, CPU and memory of a node; where nothing is named it is all of it."""

    node: str
    devices: tuple[DeviceUse, ...] = ()
    cpu_milli: int = 0
    memory_mib: int = 0


RESTART = "restart-"
"""How names of holds begin that keep the place of work that restarts."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Capacity kept in a window: a class, maintenance, the slice of a crashed environment that restarts.

    It is for a queue and all below it, for one workload, or for nobody. Either `places` are named, or
    `devices` is a number of whole ones anywhere in `pool`. Without an end it holds until it is taken away.
    """

    name: str
    starts_at: int
    ends_at: int | None = None
    queue: str | None = None
    workload: str | None = None
    places: tuple[HeldPlace, ...] = ()
    pool: str | None = None
    devices: int = 0
