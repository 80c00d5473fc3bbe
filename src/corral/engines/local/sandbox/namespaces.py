"""The namespaces of an attempt, which all its replicas on this machine share, held by file descriptors.

They are made by a short-lived child and stay for as long as the descriptors do; no process must live in
them. Network: loopback and nothing else. IPC. Mounts: those of the host, and the attempt's /dev/shm. An
ordinary user has a user namespace around them, in which they are allowed to make and join the others.
"""

import fcntl
import os
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from corral.engines.local.kernel import syscalls
from corral.engines.local.sandbox.bubblewrap import Mode

OUT_DOOR = ("127.0.0.1", 3128)
_SHARED = ("net", "ipc", "mnt")

_GET_INTERFACE_FLAGS = 0x8913
_SET_INTERFACE_FLAGS = 0x8914
_UP = 1


class NamespaceFailed(Exception):
    """The kernel or its administrator does not let us; `step` says at what, `number` is the errno."""

    def __init__(self, step: str, number: int) -> None:
        super().__init__(step)
        self.step = step
        self.number = number


@dataclass(frozen=True, slots=True)
class Attempt:
    """Descriptors of what the replicas share. `door` listens inside, for the proxy outside."""

    mode: Mode
    user: int | None
    net: int
    ipc: int
    mnt: int
    door: socket.socket | None

    def join(self, *kinds: str) -> None:
        """Joins some of net, ipc and mnt. In a forked child: there is no way back for an ordinary user."""
        if self.user is not None:
            syscalls.join(self.user, "user")
        fds = {"net": self.net, "ipc": self.ipc, "mnt": self.mnt}
        for kind in kinds:
            syscalls.join(fds[kind], kind)

    def close(self) -> None:
        for fd in (self.user, self.net, self.ipc, self.mnt):
            if fd is not None:
                os.close(fd)
        if self.door is not None:
            self.door.close()


def open_attempt(mode: Mode, shm: str, shm_mib: int, *, out_door: bool) -> Attempt:
    """Makes the namespaces. `shm` is an empty directory; inside, and only there, it is memory."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        pid = fork_and_exit(lambda: _make(theirs, mode, shm, shm_mib, out_door))
        theirs.close()
        message, fds, _, _ = socket.recv_fds(ours, 4096, 5, socket.MSG_CMSG_CLOEXEC)
        os.waitpid(pid, 0)
    if not fds:
        number, _, step = message.decode().partition(" ")
        raise NamespaceFailed(step or "the child that makes namespaces ended", int(number or 0))
    rest = list(fds)
    user = rest.pop(0) if mode is Mode.USER else None
    door = socket.socket(fileno=rest.pop()) if out_door else None
    net, ipc, mnt = rest
    return Attempt(mode, user, net, ipc, mnt, door)


def fork_and_exit(act: Callable[[], None]) -> int:
    """Runs `act` in a forked child that ends afterwards, whatever happens; returns its pid."""
    pid = os.fork()
    if pid == 0:
        _end(act)
    return pid


def _end(act: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        act()
        code = 0
    finally:
        # An exception of the child must not run on in what the parent was doing.
        if code:
            sys.excepthook(*sys.exc_info())
        os._exit(code)


def _make(channel: socket.socket, mode: Mode, shm: str, shm_mib: int, out_door: bool) -> None:
    fds = []
    try:
        if mode is Mode.USER:
            _become_owner_of_user_namespace()
            fds.append(_open("user"))
        syscalls.unshare(*_SHARED)
        syscalls.keep_mounts_to_ourselves()
        syscalls.mount_memory(shm, shm_mib)
        _raise_loopback()
        fds += [_open(kind) for kind in _SHARED]
        if out_door:
            listener = socket.create_server(OUT_DOOR, backlog=128)
            fds.append(listener.detach())
    except OSError as error:
        channel.send(f"{error.errno or 0} {error.strerror or error}".encode())
        return
    socket.send_fds(channel, [b"made"], fds)


def _become_owner_of_user_namespace() -> None:
    uid, gid = os.getuid(), os.getgid()
    syscalls.unshare("user")
    for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
        fd = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(fd, text.encode())
        os.close(fd)


def _raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        answer = fcntl.ioctl(any_socket, _GET_INTERFACE_FLAGS, request)
        (flags,) = struct.unpack_from("H", answer, 16)
        fcntl.ioctl(any_socket, _SET_INTERFACE_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def _open(kind: str) -> int:
    return os.open(f"/proc/self/ns/{kind}", os.O_RDONLY | os.O_CLOEXEC)
