"""What a run executes, and within which bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.engines.archives.limits import Archive


@dataclass(frozen=True, slots=True)
class Task:
    """A command of a Corral user (`owner`), and what it is given.

    `workspace` names a directory that the engine keeps for the workload over all its attempts: `upload` (a
    tar archive) is unpacked there once, and it is the working directory. `home` shows the owner's home
    directory. `network` opens the way out.

    A workload that `builds` makes a Python environment in its workspace, where CORRAL_BUILD says. `runtime`
    names such a workspace: its environment is there, read-only and first on PATH, until it is discarded.

    `secrets` are environment variables that are never written down: they travel through a pipe.
    `resume` says that the workload ran before and should go on where it stopped.
    """

    owner: str
    command: tuple[str, ...]
    workspace: str
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    upload: Archive | None = None
    home: bool = False
    runtime: str | None = None
    builds: bool = False
    cpu_milli: int = 1000
    memory_mib: int = 1024
    processes: int = 512
    disk_mib: int = 10240
    time_limit_seconds: int | None = None
    network: bool = True
    resume: bool = False
