"""What a run executes, and within which bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from corral.engines.contents import Content


@dataclass(frozen=True, slots=True)
class SimulatedUse:
    """What simulated work uses while it runs, up to what it was given; all of that where None.

    `gpu_percent` and `gpu_memory_mib` are those of each of its devices.
    """

    cpu_milli: int | None = None
    memory_mib: int | None = None
    gpu_percent: int = 100
    gpu_memory_mib: int | None = None


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a run in a simulated zone does: works for a time, over all attempts, and ends with a code.

    Without a duration it works until it is told to go. It then takes `save_seconds` to save; one that takes
    longer than its grace is killed. A resumed attempt works for the time that is left.
    """

    duration_seconds: int | None
    exit_code: int = 0
    usage: SimulatedUse = SimulatedUse()
    save_seconds: int = 0


class PortProtocol(StrEnum):
    """What is spoken on a port, for whoever publishes it; an engine only connects."""

    TCP = "tcp"
    HTTP = "http"


@dataclass(frozen=True, slots=True)
class Port:
    """A port on which the work listens, inside its own network."""

    name: str
    number: int
    protocol: PortProtocol = PortProtocol.TCP


@dataclass(frozen=True, slots=True)
class TcpReadiness:
    """Ready while something accepts connections on the port."""

    port: int


@dataclass(frozen=True, slots=True)
class HttpReadiness:
    """Ready while a GET of the path is answered with a status from 200 to 399. Redirects are not followed."""

    port: int
    path: str = "/"


@dataclass(frozen=True, slots=True)
class OutputReadiness:
    """Ready once a line of output has contained the text."""

    text: str


Readiness = TcpReadiness | HttpReadiness | OutputReadiness


@dataclass(frozen=True, slots=True)
class Task:
    """A command of a Corral user (`owner`), and what it is given.

    `workspace` names a directory that the engine keeps for the workload over all its attempts: `upload` (the
    digest of a tar archive) is unpacked there once, and it is the working directory. `home` shows the owner's
    home directory. `network` opens the way out.

    A workload that `builds` makes a Python environment in its workspace, where CORRAL_BUILD says. `runtime`
    names such a workspace: its environment is there, read-only and first on PATH, until it is discarded.

    `secrets` are environment variables that are never written down: they travel through a pipe.
    `resume` says that the workload ran before and should go on where it stopped.

    `ports` are those on which the work listens. `readiness` says how to find out that a run is ready; without
    it a run is ready when it runs.

    `simulation` says what a run in a simulated zone does; it is for those zones alone, and needed there.
    """

    owner: str
    command: tuple[str, ...]
    workspace: str
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    upload: Content | None = None
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
    ports: tuple[Port, ...] = ()
    readiness: Readiness | None = None
    simulation: Simulation | None = None
