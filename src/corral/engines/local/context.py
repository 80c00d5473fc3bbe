"""What the local engine stands on: its directories, people, hardware. Made once, in a thread."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from corral.engines.contents import ContentStore
from corral.engines.interface import Inventory
from corral.engines.local.files.quotas import DiskQuotas
from corral.engines.local.files.sealing import Runtimes
from corral.engines.local.files.user_ids import UserIds
from corral.engines.local.files.workspaces import Workspaces
from corral.engines.local.kernel.cgroup_roots import CgroupRoots, prepare_cgroup_roots
from corral.engines.local.machine.bundled_tools import lay_out
from corral.engines.local.machine.hardware import find_hardware
from corral.engines.local.machine.host import HostCapabilities
from corral.engines.local.machine.isolation import find_isolation
from corral.engines.local.records.attempt_store import AttemptStore
from corral.engines.local.records.crash_guard import CrashGuard


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
class EngineContext:
    settings: Settings
    attempt_store: AttemptStore
    people: UserIds
    workspaces: Workspaces
    runtimes: Runtimes
    crash_guard: CrashGuard
    cgroup_roots: CgroupRoots
    host: HostCapabilities
    disk_quotas: DiskQuotas
    contents: ContentStore
    leftovers: tuple[str, ...] = ()  # what could not be removed

    def is_workspace(self, path: str) -> bool:
        """Not that of an attempt that was refused: it has none."""
        return Path(path).parent == self.workspaces.root

    @property
    def inventory(self) -> Inventory:
        hardware = self.host.hardware
        return Inventory(1, (hardware.node,), {hardware.node.name: hardware.facts})


def open_context(settings: Settings, contents: ContentStore) -> EngineContext:
    settings.data.mkdir(mode=0o711, parents=True, exist_ok=True)
    settings.runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    attempt_store = AttemptStore(settings.data)
    attempt_store.tidy()
    disk_quotas = DiskQuotas(settings.data)
    workspaces = Workspaces(settings.data, disk_quotas)
    runtimes = Runtimes(settings.data)
    leftovers = (*workspaces.tidy(), *runtimes.tidy())
    # Two installations on one machine have different data directories.
    cgroup_roots = prepare_cgroup_roots(
        f"corral-{sha256(str(settings.data.resolve()).encode()).hexdigest()[:12]}"
    )
    ready = find_isolation(cgroup_roots, trusted=settings.trusted)
    hardware = find_hardware(
        settings.node,
        settings.data,
        settings.simulated_gpus,
        isolation=ready.isolation,
        disk_limits=disk_quotas.quotas.in_words,
        notes=ready.notes,
    )
    host = HostCapabilities(
        hardware=hardware,
        runtime=settings.runtime,
        mode=ready.mode,
        groups=cgroup_roots.as_dict(),
        tools=lay_out(settings.data),
        allowed=settings.allowed,
        disk_look_seconds=settings.disk_look_seconds,
        notes=ready.notes,
        refusal=ready.refusal,
    )
    people = UserIds(settings.data, settings.first_uid)
    crash_guard = CrashGuard(settings.data)
    return EngineContext(
        settings,
        attempt_store,
        people,
        workspaces,
        runtimes,
        crash_guard,
        cgroup_roots,
        host,
        disk_quotas,
        contents,
        leftovers,
    )
