"""From the starts of an attempt to the intent: what can be refused is refused here, in words."""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corral.engines.interface import Start
from corral.engines.local.files.sealing import Sealed
from corral.engines.local.machine.host import HostCapabilities
from corral.engines.local.records import layout
from corral.engines.local.records.spec import NO_SANDBOX, ReplicaSpec, Spec
from corral.engines.local.sandbox.bubblewrap import WORKSPACE
from corral.engines.tasks import HttpReadiness, OutputReadiness, Task, TcpReadiness

MASTER_ADDRESS = "127.0.0.1"
MASTER_PORT = 29500
SOCKET_INSIDE = f"{layout.INSIDE_RUNTIME}/{layout.WORKLOAD_SOCKET}"


@dataclass(frozen=True, slots=True)
class Home:
    """Where it is, how much may lie there (0: anything), and the file that says how much does."""

    place: Path
    most_mib: int
    count: Path


@dataclass(frozen=True, slots=True)
class Build:
    """Where an environment is made, and where it is kept afterwards (without a sandbox: where it is)."""

    prefix: Path
    sealed: Path | None


def attempt_of(start: Start) -> str:
    return layout.attempt_name(start.workload, start.attempt)


def find_refusal(
    starts: Sequence[Start], host: HostCapabilities, allocated_mib: Mapping[str, int]
) -> str | None:
    """Why these replicas, which all begin or none, cannot be started here."""
    if host.refusal is not None:
        return host.refusal
    wanted = dict(allocated_mib)
    for start in starts:
        if start.node != host.hardware.node.name:
            return f"there is no node {start.node}"
        if start.task is None:
            return "nothing is said about what it executes"
        if not start.task.command:
            return "it has no command"
        for use in start.devices:
            device = host.hardware.devices.get(use.device)
            if device is None:
                return f"{start.node} has no device {use.device}"
            mib = device.memory_mib if use.memory_mib is None else use.memory_mib
            wanted[use.device] = wanted.get(use.device, 0) + mib
            if wanted[use.device] > device.memory_mib:
                return f"device {use.device} of {start.node} is in use"
    return None


def make_spec(
    starts: Sequence[Start],
    host: HostCapabilities,
    *,
    uid: int,
    workspace: Path,
    home: Home | None,
    runtime: Sealed | None = None,
    builds: Build | None = None,
) -> Spec:
    """The intent. Everything that the replicas share comes from the first."""
    first = starts[0]
    name = attempt_of(first)
    task = first.task or Task("", (), "")
    own = {} if builds is None else {"CORRAL_BUILD": str(builds.prefix), "CORRAL_UV": str(host.tools.uv)}
    own["CORRAL_WORKSPACE"] = str(workspace) if host.mode == NO_SANDBOX else WORKSPACE
    return Spec(
        attempt=name,
        workload=first.workload,
        node=first.node,
        owner=task.owner,
        mode=host.mode,
        uid=uid,
        gid=uid if uid != os.getuid() else os.getgid(),
        workspace=str(workspace),
        sockets=str(host.runtime / name),
        replicas=tuple(_replica(start, index, host, own) for index, start in enumerate(starts)),
        home=None if home is None else str(home.place),
        home_mib=0 if home is None else home.most_mib,
        home_count="" if home is None else str(home.count),
        runtime=None if runtime is None else runtime.prefix,
        runtime_source=None if runtime is None else runtime.source,
        builds=None if builds is None else str(builds.prefix),
        sealed=None if builds is None or builds.sealed is None else str(builds.sealed),
        shown=host.tools.shown,
        network=task.network and host.mode != NO_SANDBOX,
        allowed=host.allowed,
        time_limit_seconds=task.time_limit_seconds,
        disk_look_seconds=host.disk_look_seconds,
        groups=dict(host.groups),
        notes=host.notes,
        intended=time.time_ns() // 1000,
    )


def _replica(start: Start, index: int, host: HostCapabilities, own: Mapping[str, str]) -> ReplicaSpec:
    task = start.task or Task("", ("",), "")
    devices = [
        host.hardware.devices[use.device] for use in start.devices if use.device in host.hardware.devices
    ]
    files = {path: None for device in devices for path in device.files}
    socket = SOCKET_INSIDE
    if host.mode == NO_SANDBOX:
        socket = str(host.runtime / attempt_of(start) / str(index) / layout.WORKLOAD_SOCKET)
    variables = {
        "MASTER_ADDR": MASTER_ADDRESS,
        "MASTER_PORT": str(MASTER_PORT),
        "CUDA_VISIBLE_DEVICES": ",".join(device.visible_as for device in devices),
        "CORRAL_SOCKET": socket,
        "CORRAL_RUN": start.run,
        "CORRAL_WORKLOAD": start.workload,
        "CORRAL_ATTEMPT": str(start.attempt),
        "CORRAL_RESUME": "1" if task.resume else "0",
        "PYTHONPATH": os.pathsep.join(
            filter(None, (task.environment.get("PYTHONPATH"), str(host.tools.python)))
        ),
        **own,
    }
    return ReplicaSpec(
        run=start.run,
        replica=start.replica,
        command=task.command,
        environment={**task.environment, **variables},
        cpu_milli=task.cpu_milli,
        memory_mib=task.memory_mib,
        processes=task.processes,
        disk_mib=task.disk_mib,
        devices=tuple(files),
        held=tuple((use.device, use.memory_mib) for use in start.devices),
        readiness=_readiness(task),
    )


def _readiness(task: Task) -> dict[str, object] | None:
    match task.readiness:
        case None:
            return None
        case TcpReadiness(port=port):
            return {"kind": "tcp", "port": port}
        case HttpReadiness(port=port, path=path):
            return {"kind": "http", "port": port, "path": path}
        case OutputReadiness(text=text):
            return {"kind": "output", "text": text}
