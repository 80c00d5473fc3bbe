"""The door in: a connection to a port that a workload listens on.

The workload's network has nothing but its own loopback, so a child joins it, connects there, and hands the
connected socket out. Whoever is asked for the connection need not wait: the child answers by itself.
"""

import os
import socket
from collections.abc import Callable

from corral.engines.local.sandbox.namespaces import Attempt, fork_and_exit

CONNECT_SECONDS = 5
# Some servers take the name localhost for IPv6 alone.
_ADDRESSES = ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"))


class DialRefused(Exception):
    """Nobody answers at this port inside, in words."""


def fork_dial(attempt: Attempt, port: int, answer: Callable[[socket.socket | None, str], None]) -> int:
    """Connects to the port in a child, which calls `answer` with the socket, or with None and the reason.

    Returns the child's pid; the caller reaps it.
    """
    return fork_and_exit(lambda: _dial(attempt, port, answer))


def dial(attempt: Attempt, port: int) -> socket.socket:
    """The same for callers that wait."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def answer(connected: socket.socket | None, reason: str) -> None:
        fds = [] if connected is None else [connected.fileno()]
        socket.send_fds(theirs, [reason.encode() or b"connected"], fds)

    with ours, theirs:
        pid = fork_dial(attempt, port, answer)
        theirs.close()
        message, fds, _, _ = socket.recv_fds(ours, 4096, 1, socket.MSG_CMSG_CLOEXEC)
        os.waitpid(pid, 0)
    if not fds:
        raise DialRefused(message.decode() or "the door could not be opened")
    return socket.socket(fileno=fds[0])


def connect(attempt: Attempt | None, port: int) -> socket.socket | None:
    """For a child that may join the network of the attempt; None if nothing listens."""
    if attempt is not None:
        attempt.join("net")
    for family, address in _ADDRESSES:
        connected = socket.socket(family)
        connected.settimeout(CONNECT_SECONDS)
        try:
            connected.connect((address, port))
        except OSError:
            connected.close()
        else:
            return connected
    return None


def _dial(attempt: Attempt, port: int, answer: Callable[[socket.socket | None, str], None]) -> None:
    attempt.join("net")
    reason = ""
    for family, address in _ADDRESSES:
        # Not create_connection: it looks the address up, for which Python first loads a module.
        connected = socket.socket(family)
        connected.settimeout(CONNECT_SECONDS)
        try:
            connected.connect((address, port))
        except ConnectionRefusedError:
            reason = reason or f"nothing listens on port {port} inside"
        except TimeoutError:
            reason = f"what listens on port {port} inside accepts no connection"
        except OSError as error:
            reason = f"port {port} inside cannot be reached: {error.strerror}"
        else:
            connected.settimeout(None)
            answer(connected, "")
            return
    answer(None, reason)
