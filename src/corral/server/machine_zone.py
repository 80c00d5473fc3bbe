"""This machine as a zone: the local engine with the settings of the installation.

What a zone is known by is an id in the data directory, made once. Another data directory, on this machine or
on another one with the same database, is another zone.
"""

import os
import secrets
import socket
from hashlib import sha256
from pathlib import Path

from corral.accelerators.machine import Machine
from corral.engines.interface import Engine
from corral.engines.local.engine import LocalEngine
from corral.engines.simulated_zone.engine import SimulatedZoneEngine
from corral.inputs.upload_files import UploadFiles
from corral.server.private_files import write_private
from corral.server.settings import Settings
from corral.store.database import Database
from corral.zones.rules import ZoneKind
from corral.zones.zones import Zone

# Where there is no GPU, enough simulated ones to share, slice and wait for.
FEW_GPUS = "4xL4-24GB"
NO_GPUS = "none"
IDENTITY_FILE = "zone-id"


class MachineZone:
    """What this process can drive: its own machine, and whatever needs no machine."""

    def __init__(self, settings: Settings, machine: Machine, database: Database) -> None:
        self._database = database
        self.identity = read_identity(settings.home)
        self.host = socket.gethostname()
        self._engine = _local_engine(settings, machine)

    def open_engine(self, zone: Zone) -> Engine | None:
        if zone.kind is ZoneKind.LOCAL:
            return self._engine if zone.identity == self.identity else None
        if zone.kind is ZoneKind.SIMULATED and zone.settings is not None:
            return SimulatedZoneEngine(self._database, zone.id, zone.settings["nodes"])
        return None

    async def close(self) -> None:
        await self._engine.close()


def read_identity(home: Path) -> str:
    """Of the work in this data directory; made at the first start."""
    path = home / IDENTITY_FILE
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        identity = secrets.token_hex(16)
        write_private(path, identity)
        return identity


def _local_engine(settings: Settings, machine: Machine) -> LocalEngine:
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
        contents=UploadFiles(settings.home / "uploads", settings.upload_mib),
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
