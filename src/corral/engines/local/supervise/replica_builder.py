"""Builds the replicas of an attempt up to their commands, from what its intent says."""

import contextlib
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from corral.engines.local.kernel import seccomp
from corral.engines.local.records import layout
from corral.engines.local.records.spec import NO_SANDBOX, Spec
from corral.engines.local.sandbox import launch, unsandboxed
from corral.engines.local.sandbox.bubblewrap import (
    Bind,
    Host,
    Mode,
    Sandbox,
    SandboxRefused,
    base_environment,
    look_at_host,
)
from corral.engines.local.sandbox.namespaces import Attempt, open_attempt
from corral.engines.local.supervise.outbound_door import OutboundDoor

_SHM_SHARE = 2  # /dev/shm may hold half of the memory


def warm_up() -> None:
    """Works out what is the same for every attempt."""
    with contextlib.suppress(SandboxRefused, ValueError):  # whoever needs it will hear of it
        _host()
        seccomp.program(os.uname().machine)


@cache
def _host() -> Host:
    return look_at_host()


class Builder:
    """Keeps the namespaces of the attempt once they are open; without a sandbox there are none."""

    def __init__(self, spec: Spec, door: OutboundDoor) -> None:
        self._spec = spec
        self._door = door
        self._sockets = Path(spec.sockets)
        self._shared: Attempt | None = None

    def open_shared(self) -> Attempt | None:
        """Makes what the replicas share, and opens the way out of it."""
        if self._spec.mode == NO_SANDBOX:
            return None
        shm = self._sockets / "shm"
        shm.mkdir(exist_ok=True)
        memory_mib = sum(replica.memory_mib for replica in self._spec.replicas)
        shm_mib = max(1, memory_mib // _SHM_SHARE)
        self._shared = open_attempt(Mode(self._spec.mode), str(shm), shm_mib, out_door=self._spec.network)
        self._door.open(self._shared)
        return self._shared

    def build(
        self, index: int, secrets: Mapping[str, str], output: int, entrances: Sequence[str]
    ) -> launch.Replica | unsandboxed.UnsandboxedReplica:
        """A process that waits for its release."""
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        stdio = (nothing, output, output)
        try:
            if self._shared is None:
                environment = {**self._environment(index, None), **secrets}
                command, workspace = self._spec.replicas[index].command, self._spec.workspace
                return unsandboxed.start(command, workspace, environment, stdio=stdio, cgroups=entrances)
            sandbox = self._sandbox(index)
            environment = {**self._environment(index, sandbox), **secrets}
            return launch.start(_host(), sandbox, self._shared, environment, stdio=stdio, cgroups=entrances)
        finally:
            os.close(nothing)

    def environment(self, index: int) -> dict[str, str]:
        """Without secrets: those are for the command itself."""
        return self._environment(index, None if self._shared is None else self._sandbox(index))

    def _environment(self, index: int, sandbox: Sandbox | None) -> dict[str, str]:
        base = _plain_environment(self._spec.runtime) if sandbox is None else base_environment(sandbox)
        return {**base, **self._door.variables(), **self._spec.replicas[index].environment}

    def _sandbox(self, index: int) -> Sandbox:
        spec, replica = self._spec, self._spec.replicas[index]
        # A socket takes connections also where nothing can be written: it can be used, not replaced.
        binds = [Bind(str(self._sockets / str(index)), layout.INSIDE_RUNTIME)]
        binds += [Bind(source, target) for source, target in spec.shown]
        if spec.builds is not None:
            # An environment works only where it was made: its users find the sealed copy there.
            binds.append(Bind(spec.workspace, spec.workspace, writable=True))
        return Sandbox(
            mode=Mode(spec.mode),
            uid=spec.uid,
            gid=spec.gid,
            hostname=layout.group_name(spec.attempt, index)[-63:].strip("-."),
            command=replica.command,
            workspace=spec.workspace,
            shm=str(self._sockets / "shm"),
            home=spec.home,
            runtime=_runtime(spec),
            binds=tuple(binds),
            devices=replica.devices,
        )


def _plain_environment(runtime: str | None) -> dict[str, str]:
    if runtime is None:
        return dict(os.environ)
    path = f"{runtime}/bin:{os.environ.get('PATH', os.defpath)}"
    return {**os.environ, "PATH": path, "VIRTUAL_ENV": runtime}


def _runtime(spec: Spec) -> Bind | None:
    if spec.runtime is None or spec.runtime_source is None:
        return None
    return Bind(spec.runtime_source, spec.runtime)
