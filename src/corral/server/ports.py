"""The port of `corral up`: opened by the parent, and who has it when it is taken. Standard library only."""

import contextlib
import errno
import socket
from pathlib import Path

__all__ = ["PortError", "listen", "listeners_on"]

_BACKLOG = 2048
_LISTENING = "0A"


class PortError(Exception):
    """The port cannot be opened; the message says why, the remedy what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


def listen(host: str, port: int, option: str = "--port") -> socket.socket:
    """Opens the listening socket. A restarted child inherits it, so that no caller is turned away."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise PortError(f"The host name {host} is unknown here: {error.strerror}.", "Check --host.") from None
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise _explain(error, host, port, option) from None
    return listener


def _explain(error: OSError, host: str, port: int, option: str) -> PortError:
    if error.errno == errno.EADDRINUSE:
        other_port = port + 2 if port < 65534 else port - 2
        remedy = f"Stop it, or choose another port: corral up {option} {other_port}"
        return PortError(f"Port {port} is in use by {_first_listener(port)}.", remedy)
    if error.errno == errno.EACCES:
        return PortError(f"This user may not open port {port}.", f"Choose a port above 1023 with {option}.")
    if error.errno == errno.EADDRNOTAVAIL:
        return PortError(f"{host} is no address of this machine.", "Choose one of its addresses with --host.")
    return PortError(f"{host} port {port} cannot be opened: {error.strerror}.", f"Check --host and {option}.")


def _first_listener(port: int) -> str:
    # Children share the socket of their parent, which is the one to stop; its number may be the higher one.
    owners = listeners_on(port)
    if not owners:
        return "a process of another user"
    pid, command = next((one for one in owners if "corral.server.parent" in one[1]), owners[0])
    if "corral.server.parent" in command:
        return f"another Corral (process {pid})"
    return f"process {pid} ({command})"


def listeners_on(port: int) -> list[tuple[int, str]]:
    """Process id and command of those that listen on a TCP port, as far as this user may know."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    return [(pid, _command(pid)) for pid in _process_ids() if inodes & _open_files(pid)]


def _process_ids() -> list[int]:
    with contextlib.suppress(OSError):
        return sorted(int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return []


def _open_files(pid: int) -> set[str]:
    names: set[str] = set()
    # A process may end, or belong to someone else, while we look.
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                names.add(str(entry.readlink()))
    return names


def _command(pid: int) -> str:
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        return " ".join(word for word in words if word)[:80]
    return "?"
