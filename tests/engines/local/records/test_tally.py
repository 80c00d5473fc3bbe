"""Bytes are counted where they pass, in a file that is read without asking anybody."""

import os
import signal
import socket
from pathlib import Path

from corral.engines.local.doors import proxy
from corral.engines.local.records import tally
from corral.engines.local.sandbox.namespaces import fork_and_exit


def test_proxy_counts_what_it_relays_each_way(tmp_path: Path) -> None:
    page = tally.make(tmp_path)
    assert tally.counters(tmp_path) == {"received_bytes": 0, "sent_bytes": 0}
    with socket.create_server(("127.0.0.1", 0)) as far, socket.create_server(("127.0.0.1", 0)) as door:
        address = far.getsockname()

        def serve() -> None:
            proxy.Proxy(door, lambda *_: socket.create_connection(address), tally.RelayedBytes(page)).serve()

        serving = fork_and_exit(serve)
        with socket.create_connection(door.getsockname()) as near:
            near.sendall(b"CONNECT far.example:1 HTTP/1.1\r\n\r\n")
            assert near.recv(100).startswith(b"HTTP/1.1 200")
            near.sendall(bytes(3000))
            connection, _ = far.accept()
            with connection:
                connection.recv(3000, socket.MSG_WAITALL)
                connection.sendall(bytes(200_000))
            near.recv(200_000, socket.MSG_WAITALL)
        os.kill(serving, signal.SIGKILL)
        os.waitpid(serving, 0)
    assert tally.counters(tmp_path) == {"received_bytes": 200_000, "sent_bytes": 3000}


def test_connections_and_disk_are_added(tmp_path: Path) -> None:
    tally.RelayedBytes(tally.make(tmp_path)).receive(5)
    tally.write_dials(tmp_path, 10, 20)
    tally.write_disk(tmp_path, 4096)
    assert tally.read_dials(tmp_path) == (10, 20)
    assert tally.counters(tmp_path) == {"received_bytes": 15, "sent_bytes": 20, "disk_bytes": 4096}


def test_attempt_of_a_supervisor_that_does_not_count_is_not_counted(tmp_path: Path) -> None:
    tally.write_dials(tmp_path, 10, 20)
    assert tally.counters(tmp_path) == {}
