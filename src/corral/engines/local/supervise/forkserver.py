"""Makes supervisors: a process that has loaded their code once and forks one for each attempt.

A fork costs 2 ms and shares its memory; a new interpreter would cost 30 ms and 7 MiB. It is started as
`python -I -S forkserver.py SOURCES` with a socket as standard input, through which it is handed one socket
per attempt, and it ends with that socket. Supervisors do not: they are sessions of their own.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path

_MOST_REQUEST_BYTES = 16 * 1024 * 1024


def serve(requests: socket.socket) -> None:
    # Supervisors that end are not waited for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, 1, 1)
        if not message:
            return
        ready = socket.socket(fileno=descriptors[0])
        if os.fork() == 0:
            requests.close()
            become_supervisor(ready)
        ready.close()


def become_supervisor(ready: socket.socket) -> None:
    """Reads what to supervise from the socket, secrets included, and never returns."""
    from corral.engines.local.supervise.supervisor import supervise

    code = 1
    try:
        os.setsid()
        os.umask(0o077)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request = json.loads(_read_all(ready))
        _write_errors_to(request["directory"])
        supervise(Path(request["directory"]), request["secrets"], ready)
        code = 0
    except BaseException:
        # The last word of a supervisor that fails by a fault of its own; it must not go on in the forkserver.
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


def _read_all(connection: socket.socket) -> bytes:
    data = bytearray()
    while (part := connection.recv(65536)) and len(data) < _MOST_REQUEST_BYTES:
        data += part
    return bytes(data)


def _write_errors_to(directory: str) -> None:
    log = os.open(f"{directory}/supervisor.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    os.dup2(log, 2)
    os.close(log)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)


def main() -> None:
    sys.path.append(sys.argv[1])
    import gc

    # Loaded and worked out here, so that every fork has it.
    import corral.engines.local.doors.proxy
    import corral.engines.local.supervise.supervisor  # noqa: F401
    from corral.engines.local.supervise.replica_builder import warm_up

    warm_up()
    # What is loaded now is not looked at again: the pages stay shared.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=0) as requests:
        serve(requests)


if __name__ == "__main__":
    main()
