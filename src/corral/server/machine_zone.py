"""This machine as a zone: the local engine with the settings of the installation."""

import os
from hashlib import sha256
from pathlib import Path

from corral.accelerators.machine import Machine
from corral.engines.local.engine import LocalEngine
from corral.server.settings import Settings

# Where there is no GPU, enough simulated ones to share, slice and wait for.
FEW_GPUS = "4xL4-24GB"
NO_GPUS = "none"


def local_engine(settings: Settings, machine: Machine) -> LocalEngine:
    return LocalEngine(
        settings.home / "work",
        runtime_directory(settings.home),
        simulated_gpus=simulated_gpus(settings, machine),
        trusted=settings.trusted,
        first_uid=settings.first_uid,
        allowed=settings.allowed_networks,
        home_mib=settings.home_mib,
        workspace_files=settings.workspace_files,
        person_mib=settings.person_mib,
        person_files=settings.person_files,
    )


def simulated_gpus(settings: Settings, machine: Machine) -> str | None:
    """What the engine is to say that it has; None for what there really is."""
    if settings.simulated_gpus == NO_GPUS:
        return None if machine.gpus_simulated else ""
    if settings.simulated_gpus:
        return settings.simulated_gpus
    return FEW_GPUS if machine.gpus_simulated else None


def runtime_directory(home: Path) -> Path:
    """Short, for sockets; of this user and this data directory alone, and the same after a restart."""
    name = f"corral-{sha256(str(home.resolve()).encode()).hexdigest()[:10]}"
    if os.geteuid() == 0:
        return Path("/run") / name
    own = os.environ.get("XDG_RUNTIME_DIR")
    if own and Path(own).is_dir():
        return Path(own) / name
    return home / "run"
