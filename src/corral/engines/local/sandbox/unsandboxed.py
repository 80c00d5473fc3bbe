"""A replica without a sandbox: a plain process of the one person who uses this machine."""

import contextlib
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from corral.engines.local.kernel import syscalls
from corral.engines.local.sandbox.bubblewrap import SandboxRefused
from corral.engines.local.sandbox.launch import enter_cgroups, limit_resources, reset_signals
from corral.engines.local.sandbox.namespaces import fork_and_exit


class UnsandboxedReplica:
    """Like `launch.Replica`. It leads a process group, which is what can be killed without control groups."""

    inside = None

    def __init__(self, pid: int, waiting: int) -> None:
        self.pid = pid
        self.main = pid
        self._waiting = waiting

    def release(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            os.write(self._waiting, b"\n")
        self.close()

    def close(self) -> None:
        if self._waiting >= 0:
            os.close(self._waiting)
            self._waiting = -1

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)


def start(
    command: Sequence[str],
    workspace: str,
    environment: Mapping[str, str],
    *,
    stdio: tuple[int, int, int],
    cgroups: Sequence[str] = (),
) -> UnsandboxedReplica:
    """Forks up to the command, which waits for `release`."""
    if not Path(workspace).is_dir():
        raise SandboxRefused(f"there is no directory {workspace}")
    waiting, release = os.pipe()
    parent = os.getpid()

    def become() -> None:
        os.close(release)
        enter_cgroups(cgroups)
        os.setsid()
        syscalls.die_with_parent(parent)
        reset_signals()
        limit_resources()
        os.chdir(workspace)
        for number, descriptor in enumerate(stdio):
            os.dup2(descriptor, number)
        if not os.read(waiting, 1):
            return
        os.closerange(3, 1 << 16)
        _execute(command, environment)

    pid = fork_and_exit(become)
    os.close(waiting)
    return UnsandboxedReplica(pid, release)


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> None:
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        os.write(2, f"{command[0]}: not found\n".encode())
        os._exit(127)
    try:
        os.execve(program, list(command), dict(environment))  # noqa: S606
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(126)
