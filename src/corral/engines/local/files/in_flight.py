"""Descriptors that wait in unix sockets (SCM_RIGHTS): no process has them, and they keep files open.

The kernel says how many wait in a socket. To see which, the socket is copied from who has it, and its
messages are looked at without taking them. Where that cannot be done (connections that nobody has accepted
yet, threads with descriptors of their own before Linux 6.9) they stay unseen, and are counted as such.

Imported by the supervisor, so it uses the standard library only.
"""

import array
import contextlib
import os
import socket
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from corral.engines.local.kernel import syscalls

_MOST_SOCKETS = 4096  # that are looked into; sockets travel through sockets, too
_MOST_MESSAGES = 4096
_MESSAGE_BYTES = 1 << 20  # larger than a message can be
_MOST_IN_MESSAGE = 253
_PEEK_OFFSET = 42  # SO_PEEK_OFF

_PEEK = socket.MSG_PEEK | socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC

Note = Callable[[os.stat_result], None]


def waiting(thread: int, number: int) -> int:
    """How many descriptors wait in a socket of a thread; 0 also if it was closed meanwhile."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{thread}/fdinfo/{number}").read_bytes().splitlines():
            if line.startswith(b"scm_fds:"):
                return int(line.split()[1])
    return 0


def look(sockets: Iterable[tuple[int, int, int]], note: Note) -> int:
    """Tells `note` of everything that waits in these (thread, descriptor, count) and in sockets that wait.

    Returns how many could not be seen.
    """
    unseen = 0
    inodes: set[int] = set()
    found: list[tuple[socket.socket, int]] = []
    for thread, number, count in sockets:
        try:
            found.append((socket.socket(fileno=syscalls.copy_descriptor(thread, number)), count))
        except OSError:
            unseen += waiting(thread, number)
        while found:
            opened, count = found.pop()
            with opened:
                inode = os.fstat(opened.fileno()).st_ino
                if inode in inodes:
                    continue
                inodes.add(inode)
                unseen += _look_into(opened, count, note, found) if len(inodes) < _MOST_SOCKETS else count
    return unseen


def _look_into(opened: socket.socket, count: int, note: Note, found: list[tuple[socket.socket, int]]) -> int:
    """How many of those that wait in it could not be seen."""
    buffer = bytearray(_MESSAGE_BYTES)
    descriptors = _peek(opened, buffer) or []
    if len(descriptors) < count:
        # Only what is first can be looked at, unless it is said where to begin.
        for descriptor in descriptors:
            os.close(descriptor)
        descriptors = _peek_all(opened, buffer, count)
    for descriptor in descriptors:
        status = os.fstat(descriptor)
        note(status)
        queued = waiting(os.getpid(), descriptor) if stat.S_ISSOCK(status.st_mode) else 0
        if queued:
            found.append((socket.socket(fileno=descriptor), queued))
        else:
            os.close(descriptor)
    return max(0, count - len(descriptors))


def _peek_all(opened: socket.socket, buffer: bytearray, count: int) -> list[int]:
    descriptors: list[int] = []
    with contextlib.suppress(OSError):
        before = opened.getsockopt(socket.SOL_SOCKET, _PEEK_OFFSET)
        opened.setsockopt(socket.SOL_SOCKET, _PEEK_OFFSET, 0)
        try:
            for _ in range(_MOST_MESSAGES):
                more = _peek(opened, buffer) if len(descriptors) < count else None
                if more is None:
                    break
                descriptors += more
        finally:
            opened.setsockopt(socket.SOL_SOCKET, _PEEK_OFFSET, before)
    return descriptors


def _peek(opened: socket.socket, buffer: bytearray) -> list[int] | None:
    """What comes with the next message; it stays where it is, and we have it, too. None after the last."""
    descriptors = array.array("i")
    room = socket.CMSG_SPACE(_MOST_IN_MESSAGE * descriptors.itemsize)
    try:
        size, ancillary, _, _ = opened.recvmsg_into([buffer], room, _PEEK)
    except OSError:  # nothing there, or it only listens
        return None
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            descriptors.frombytes(data[: len(data) - len(data) % descriptors.itemsize])
    is_over = size == 0 and not descriptors and opened.type == socket.SOCK_STREAM
    return None if is_over else list(descriptors)
