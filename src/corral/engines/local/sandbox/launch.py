"""Starts one replica in its sandbox and keeps what is needed to enter it later."""

import fcntl
import os
import resource
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from corral.engines.local.kernel import seccomp
from corral.engines.local.sandbox.bubblewrap import (
    ENVIRONMENT_FD,
    RELEASE_FD,
    Host,
    Mode,
    Sandbox,
    SandboxRefused,
    environment_script,
    files,
    options,
    steps,
)
from corral.engines.local.sandbox.namespaces import Attempt, fork_and_exit

_OWNING_USER_NAMESPACE = 0xB701
CREDENTIALS = struct.Struct("3i")  # pid, uid and gid of whoever sent a message
_OPEN_FILES = 65536
HIGHEST_DESCRIPTOR = 1 << 30
# Not those that the C library keeps to itself: below make they are ignored, and nobody may change them.
_SIGNALS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
_FIRST_TO_DIE = "500"  # when memory ends and no limit of a cgroup came first


@dataclass(frozen=True, slots=True)
class Inside:
    """Namespaces of one replica. As an ordinary user it has two user namespaces, one in the other."""

    uts: int
    pid: int
    mnt: int
    cgroup: int
    outer_user: int | None
    inner_user: int | None

    def close(self) -> None:
        for fd in (self.uts, self.pid, self.mnt, self.cgroup, self.outer_user, self.inner_user):
            if fd is not None:
                os.close(fd)


class Replica:
    """`pid` is bubblewrap, a child of this process; `main` the command's first process, seen from outside."""

    def __init__(self, pid: int, main: int, inside: Inside, waiting: socket.socket) -> None:
        self.pid = pid
        self.main = main
        self.inside = inside
        self._waiting = waiting

    def release(self) -> None:
        """Lets the command begin. One that was killed in the meantime is not there to hear it."""
        try:
            self._waiting.send(b"\n", socket.MSG_NOSIGNAL)
        except (BrokenPipeError, ConnectionResetError):
            pass
        finally:
            self._waiting.close()

    def close(self) -> None:
        self._waiting.close()
        self.inside.close()


def start(
    host: Host,
    sandbox: Sandbox,
    attempt: Attempt,
    environment: Mapping[str, str],
    *,
    stdio: tuple[int, int, int],
    cgroups: Sequence[str] = (),
) -> Replica:
    """Builds the sandbox up to the command, which waits for `release`.

    `cgroups` are the files (cgroup.procs) into which the child writes itself first. When it cannot be built,
    `SandboxRefused` is raised; what bubblewrap said of it is in the output.
    """
    waiting, theirs = socket.socketpair()
    waiting.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with theirs, _Descriptors((*stdio, theirs.fileno())) as descriptors:
        # Before the fork: what a child touches is copied for it.
        argv = _hand_over(host, sandbox, environment, descriptors)
        pid = fork_and_exit(lambda: _become_sandbox(host.bwrap, argv, descriptors, attempt, cgroups))
    message, main = _hear(waiting)
    if message != b"r":
        waiting.close()
        os.waitpid(pid, 0)
        raise SandboxRefused(message.decode() or "the sandbox could not be built; its output says why")
    return Replica(pid, main, _open_inside(main, sandbox.mode), waiting)


def enter_cgroups(cgroups: Sequence[str]) -> None:
    for path in cgroups:
        fd = os.open(path, os.O_WRONLY)
        os.write(fd, b"0")
        os.close(fd)


def limit_resources() -> None:
    """No core files, which a handler of the host would see; many open files; first to go without memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files_limit = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files_limit, files_limit))
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(fd, _FIRST_TO_DIE.encode())
    os.close(fd)


def reset_signals() -> None:
    """Ignored signals and masks are inherited through exec; a command expects neither."""
    for number in _ignored():
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _ignored() -> list[int]:
    fd = os.open("/proc/self/status", os.O_RDONLY)
    status = os.read(fd, 65536)
    os.close(fd)
    mask = int(status.partition(b"SigIgn:\t")[2].split(b"\n", 1)[0], 16)
    return [number for number in _SIGNALS if mask >> (number - 1) & 1]


def _become_sandbox(
    bwrap: str, argv: list[str], descriptors: "_Descriptors", attempt: Attempt, cgroups: Sequence[str]
) -> None:
    try:
        enter_cgroups(cgroups)
        os.setsid()
        os.umask(0o022)
        reset_signals()
        limit_resources()
        attempt.join("net", "ipc", "mnt")
        descriptors.arrange()
        os.execve(bwrap, argv, {"PATH": "/usr/bin:/bin"})  # noqa: S606
    except OSError as error:
        # The socket itself is closed when its copy has taken its place.
        where = descriptors.release if error.filename != bwrap else RELEASE_FD
        os.write(where, f"the sandbox could not be built: {error}".encode())


def _hand_over(
    host: Host, sandbox: Sandbox, environment: Mapping[str, str], descriptors: "_Descriptors"
) -> list[str]:
    """Opens the files that bubblewrap and the shell get; returns the command that says which they are."""
    settings = descriptors.add(environment_script(environment))
    assert settings == ENVIRONMENT_FD
    etc = {path: descriptors.add(content) for path, content in files(sandbox).items()}
    calls = descriptors.add(seccomp.program(os.uname().machine))
    words = options(host, sandbox, etc, calls)
    arguments = descriptors.add(b"".join(word.encode() + b"\0" for word in words))
    # By a descriptor, because argv is shown to everyone and names paths of the host.
    return [host.bwrap, "--args", str(arguments), "--", *steps(host, sandbox)]


class _Descriptors:
    """The open files of a new program: numbered from 0 in the order they are given, and no others.

    Those that were made for it are closed at the end of the block.
    """

    def __init__(self, first: Sequence[int]) -> None:
        assert len(first) == RELEASE_FD + 1
        self.release = first[RELEASE_FD]
        self._descriptors = list(first)
        self._first = len(first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for fd in self._descriptors[self._first :]:
            os.close(fd)

    def add(self, content: bytes) -> int:
        """A file in memory; returns the number that it will have."""
        fd = os.memfd_create("corral")
        os.write(fd, content)
        os.lseek(fd, 0, os.SEEK_SET)
        self._descriptors.append(fd)
        return len(self._descriptors) - 1

    def arrange(self) -> None:
        # First out of the way of the numbers that will be overwritten.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, len(self._descriptors)) for fd in self._descriptors]
        for number, fd in enumerate(high):
            os.dup2(fd, number)
        os.closerange(len(self._descriptors), HIGHEST_DESCRIPTOR)


def _hear(waiting: socket.socket) -> tuple[bytes, int]:
    """What was said, and the pid of who said it, which the kernel attaches."""
    message, ancillary, _, _ = waiting.recvmsg(4096, socket.CMSG_SPACE(CREDENTIALS.size))
    ((_, _, credentials),) = ancillary or ((0, 0, bytes(CREDENTIALS.size)),)
    pid, _, _ = CREDENTIALS.unpack(credentials)
    return message, int(pid)


def _open_inside(pid: int, mode: Mode) -> Inside:
    def namespace(kind: str) -> int:
        return os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)

    mnt = namespace("mnt")
    outer = fcntl.ioctl(mnt, _OWNING_USER_NAMESPACE) if mode is Mode.USER else None
    inner = namespace("user") if mode is Mode.USER else None
    return Inside(namespace("uts"), namespace("pid"), mnt, namespace("cgroup"), outer, inner)
