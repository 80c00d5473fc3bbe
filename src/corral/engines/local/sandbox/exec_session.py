"""A second command in a running sandbox (exec, SSH), held to the same limits as the workload itself.

    entering = begin(replica.inside, attempt, request, stdio=None)
    ...                                    # entering.channel becomes readable
    session = entering.finish()            # or ExecRefused
    os.waitpid(session.pid, 0)

A child enters the cgroup first, so that nothing it does is unlimited, joins the namespaces from the outermost
user namespace inwards, and starts the command there as a child of this process. A cgroup that is paused
pauses the entry: hence the channel, for which the caller need not wait.
"""

import errno
import fcntl
import os
import socket
import struct
import sys
import termios
import warnings  # noqa: F401 - loaded now, because os.execvpe wants it when nothing can be loaded
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from corral.engines.local.kernel import seccomp, syscalls
from corral.engines.local.sandbox.bubblewrap import WORKSPACE, Mode
from corral.engines.local.sandbox.launch import (
    CREDENTIALS,
    HIGHEST_DESCRIPTOR,
    Inside,
    enter_cgroups,
    limit_resources,
    reset_signals,
)
from corral.engines.local.sandbox.namespaces import Attempt, fork_and_exit

_NOT_FOUND, _NOT_RUN = 127, 126

# Children that have done their part but may not have ended: a paused cgroup would keep who waits for them.
_helpers: list[int] = []


class ExecRefused(Exception):
    """The command could not be started inside, in words."""


@dataclass(frozen=True, slots=True)
class TerminalSize:
    """Of a terminal."""

    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class ExecRequest:
    """A command and as whom it runs. With a `terminal` it gets one of the sandbox, instead of `stdio`."""

    uid: int
    gid: int
    command: tuple[str, ...]
    environment: Mapping[str, str]
    terminal: TerminalSize | None = None
    cgroups: Sequence[str] = field(default=())


@dataclass(frozen=True, slots=True)
class Session:
    """`pid` is a child of this process; `terminal` the other end of its terminal."""

    pid: int
    terminal: int | None

    def resize(self, size: TerminalSize) -> None:
        assert self.terminal is not None
        set_size(self.terminal, size)


@dataclass(frozen=True, slots=True)
class PendingExec:
    """Something that is about to be inside. `births` tells of a command that died before it could speak."""

    helper: int
    channel: socket.socket
    births: int

    def finish(self) -> Session:
        """Waits for the outcome; without waiting once the channel is readable."""
        space = socket.CMSG_SPACE(CREDENTIALS.size) + socket.CMSG_SPACE(4)
        with self.channel:
            message, ancillary, _, _ = self.channel.recvmsg(4096, space, socket.MSG_CMSG_CLOEXEC)
        # An end without a message means that both are gone, so that this does not wait either.
        born = os.read(self.births, 20) if not message else b""
        os.close(self.births)
        _reap_helpers(self.helper)
        pid, terminal = int(born or 0), None
        for _, kind, data in ancillary:
            if kind == socket.SCM_CREDENTIALS:
                pid, _, _ = CREDENTIALS.unpack(data)
            else:
                (terminal,) = struct.unpack("i", data)
        if message != b"inside":
            if pid and pid != self.helper:
                os.waitpid(pid, 0)
            raise ExecRefused(message.decode() or "the sandbox has ended")
        return Session(pid, terminal)


def begin(
    inside: Inside, attempt: Attempt, request: ExecRequest, stdio: tuple[int, int, int] | None
) -> PendingExec:
    """Starts to enter; `stdio` may be closed by the caller afterwards."""
    seccomp.program(os.uname().machine)  # made here once instead of by every child
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    channel.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with theirs:
        births, birth = os.pipe()
        helper = fork_and_exit(lambda: _join_and_fork(inside, attempt, request, stdio, theirs, birth))
    os.close(birth)
    return PendingExec(helper, channel, births)


def set_size(terminal: int, size: TerminalSize) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", size.rows, size.columns, 0, 0))


def _reap_helpers(done: int) -> None:
    _helpers.append(done)
    _helpers[:] = [pid for pid in _helpers if os.waitpid(pid, os.WNOHANG) == (0, 0)]


def _join_and_fork(
    inside: Inside,
    attempt: Attempt,
    request: ExecRequest,
    stdio: tuple[int, int, int] | None,
    channel: socket.socket,
    birth: int,
) -> None:
    try:
        enter_cgroups(request.cgroups)
        limit_resources()
        # The workload runs as the same user and will see this process: it must find nothing in it.
        syscalls.hide_from_others()
        # From here on files are the workload's: a module that Python loads late must not come from them.
        sys.meta_path.clear()
        attempt.join("ipc", "net")
        if inside.outer_user is not None:
            syscalls.join(inside.outer_user, "user")
        for kind, fd in (
            ("uts", inside.uts),
            ("cgroup", inside.cgroup),
            ("pid", inside.pid),
            ("mnt", inside.mnt),
        ):
            syscalls.join(fd, kind)
        if inside.inner_user is not None:
            syscalls.join(inside.inner_user, "user")
        # Not kept as a parent: it would be a second process per session, and change the exit code.
        child = syscalls.fork_beside()
        if child == 0:
            _become_user(attempt.mode, request, stdio, channel)
        os.write(birth, str(child).encode())
    except OSError as error:
        # So the kernel answers when the first process inside is gone.
        ended = error.errno == errno.ENOMEM
        channel.send(b"the sandbox has ended" if ended else (error.strerror or str(error)).encode())


def _become_user(
    mode: Mode, request: ExecRequest, stdio: tuple[int, int, int] | None, channel: socket.socket
) -> None:
    os.setsid()
    os.umask(0o022)
    reset_signals()
    syscalls.empty_bounding_set()
    if mode is Mode.ROOT:
        os.setgroups([])
        os.setresgid(request.gid, request.gid, request.gid)
        os.setresuid(request.uid, request.uid, request.uid)
        syscalls.hide_from_others()
    syscalls.drop_capabilities()
    syscalls.filter_calls(seccomp.program(os.uname().machine))
    os.chdir(WORKSPACE)
    if request.terminal is None:
        assert stdio is not None
        descriptors, sent = stdio, []
    else:
        outer, own = _open_terminal(request.terminal)
        descriptors, sent = (own, own, own), [outer]
    socket.send_fds(channel, [b"inside"], sent)
    _take_descriptors(descriptors)
    _run(request)


def _open_terminal(size: TerminalSize) -> tuple[int, int]:
    """A terminal of the sandbox itself, so that `tty` names it; it becomes this session's own."""
    outer, own = os.openpty()
    fcntl.ioctl(own, termios.TIOCSCTTY, 0)
    set_size(outer, size)
    return outer, own


def _take_descriptors(descriptors: tuple[int, int, int]) -> None:
    high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3) for fd in descriptors]
    for number, fd in enumerate(high):
        os.dup2(fd, number)
    os.closerange(3, HIGHEST_DESCRIPTOR)


def _run(request: ExecRequest) -> None:
    try:
        os.execvpe(request.command[0], request.command, request.environment)  # noqa: S606
    except OSError as error:
        os.write(2, f"cannot run {request.command[0]}: {error.strerror}\n".encode())
        os._exit(_NOT_FOUND if error.errno == errno.ENOENT else _NOT_RUN)
