"""Corral's side of the forkserver: hands it attempts to supervise."""

import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import corral
from corral.engines.local.supervise import forkserver

_ANSWER_SECONDS = 30


class StartFailed(Exception):
    """No supervisor came to life, in words."""


class ForkserverClient:
    """Started when it is needed, and again if it has ended. Thread-safe."""

    def __init__(self, python: str | None = None) -> None:
        self._python = python or sys.executable
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None

    def supervise(self, directory: Path, secrets: Sequence[Mapping[str, str]]) -> None:
        """Returns when a supervisor holds the attempt and can be reached."""
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._hand_over(theirs)
            theirs.close()
            ours.settimeout(_ANSWER_SECONDS)
            request = {"directory": str(directory), "secrets": [dict(each) for each in secrets]}
            try:
                ours.sendall(json.dumps(request).encode())
                ours.shutdown(socket.SHUT_WR)
                answer = _read_all(ours)
            except OSError as error:
                raise StartFailed(f"the supervisor did not answer: {error}") from error
        if not answer:
            raise StartFailed("the supervisor ended before it was ready")
        problem = json.loads(answer).get("error")
        if problem is not None:
            raise StartFailed(str(problem))

    def close(self) -> None:
        """Supervisors live on."""
        with self._lock:
            if self._requests is not None:
                self._requests.close()
                self._requests = None
            if self._process is not None:
                self._process.wait()
                self._process = None

    def _hand_over(self, connection: socket.socket) -> None:
        with self._lock:
            for last_try in (False, True):
                requests = self._running()
                try:
                    socket.send_fds(requests, [b"+"], [connection.fileno()], socket.MSG_NOSIGNAL)
                    return
                except OSError as error:
                    requests.close()
                    self._requests = None
                    if last_try:
                        raise StartFailed(f"supervisors cannot be started: {error}") from error

    def _running(self) -> socket.socket:
        if self._requests is not None and self._process is not None and self._process.poll() is None:
            return self._requests
        if self._requests is not None:
            self._requests.close()
        ours, theirs = socket.socketpair()
        with theirs:
            sources = Path(corral.__file__).parents[1]
            # Isolated, without site packages and without our environment: secrets may be in it.
            self._process = subprocess.Popen(  # noqa: S603
                [self._python, "-I", "-S", str(forkserver.__file__), str(sources)],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                env={key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TZ") if key in os.environ},
                start_new_session=True,
            )
        self._requests = ours
        return ours


def _read_all(connection: socket.socket) -> bytes:
    data = bytearray()
    while part := connection.recv(65536):
        data += part
    return bytes(data)
