"""What the local engine stands on: its directories, people, hardware. Made once, in a thread."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from corral.engines.interface import Inventory
from corral.engines.local.beginnings import Beginnings
from corral.engines.local.group_bases import Bases, prepare_bases
from corral.engines.local.hardware import find_hardware
from corral.engines.local.people import People
from corral.engines.local.quotas import Fences
from corral.engines.local.readiness import find_readiness
from corral.engines.local.sealing import Runtimes
from corral.engines.local.shelf import Shelf
from corral.engines.local.starting import Ground
from corral.engines.local.tools import lay_out
from corral.engines.local.workspaces import Workspaces


@dataclass(frozen=True, slots=True)
class Settings:
    """Where things lie, and what this machine is said to be."""

    data: Path
    runtime: Path
    node: str
    simulated_gpus: str | None
    trusted: bool
    first_uid: int
    allowed: tuple[str, ...]
    disk_look_seconds: float
    home_mib: int
    files: int = 0
    person_mib: int = 0
    person_files: int = 0


@dataclass(frozen=True, slots=True)
class House:
    settings: Settings
    shelf: Shelf
    people: People
    workspaces: Workspaces
    runtimes: Runtimes
    beginnings: Beginnings
    bases: Bases
    ground: Ground
    fences: Fences
    leftovers: tuple[str, ...] = ()  # what could not be removed

    def is_workspace(self, path: str) -> bool:
        """Not that of an attempt that was refused: it has none."""
        return Path(path).parent == self.workspaces.root

    @property
    def inventory(self) -> Inventory:
        hardware = self.ground.hardware
        return Inventory(1, (hardware.node,), {hardware.node.name: hardware.facts})


def build_house(settings: Settings) -> House:
    settings.data.mkdir(mode=0o711, parents=True, exist_ok=True)
    settings.runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    shelf = Shelf(settings.data)
    shelf.tidy()
    fences = Fences(settings.data)
    workspaces = Workspaces(settings.data, fences)
    runtimes = Runtimes(settings.data)
    leftovers = (*workspaces.tidy(), *runtimes.tidy())
    # Two installations on one machine have different data directories.
    bases = prepare_bases(f"corral-{sha256(str(settings.data.resolve()).encode()).hexdigest()[:12]}")
    ready = find_readiness(bases, trusted=settings.trusted)
    hardware = find_hardware(
        settings.node,
        settings.data,
        settings.simulated_gpus,
        isolation=ready.isolation,
        disk_limits=fences.quotas.in_words,
        notes=ready.notes,
    )
    ground = Ground(
        hardware=hardware,
        runtime=settings.runtime,
        mode=ready.mode,
        groups=bases.as_dict(),
        tools=lay_out(settings.data),
        allowed=settings.allowed,
        disk_look_seconds=settings.disk_look_seconds,
        notes=ready.notes,
        refusal=ready.refusal,
    )
    people = People(settings.data, settings.first_uid)
    beginnings = Beginnings(settings.data)
    return House(settings, shelf, people, workspaces, runtimes, beginnings, bases, ground, fences, leftovers)
