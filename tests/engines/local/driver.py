"""Plays the supervisor for tests: runs as `python -I -S`, as root or as an ordinary user.

The modules of the engine lie beside it. A test hands it Python source, which finds `box` and everything that
is imported here; what it prints is what the test gets.
"""

import errno
import json
import os
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

from corral.engines.local.doors import inbound, outbound
from corral.engines.local.kernel import syscalls
from corral.engines.local.sandbox import bubblewrap, exec_session, launch, namespaces

LIMIT_SECONDS = 20


class Running:
    """A replica and what it has written so far."""

    def __init__(self, replica: launch.Replica, output: int) -> None:
        self.replica = replica
        self._output = output
        self._text = b""
        self._said = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)

    @property
    def text(self) -> str:
        return self._text.decode()

    def release(self) -> "Running":
        self.replica.release()
        self._reader.start()
        return self

    def wait_for(self, word: str) -> str:
        """Until the output has this word."""
        with self._said:
            there = self._said.wait_for(lambda: word.encode() in self._text, LIMIT_SECONDS)
        if not there:
            raise TimeoutError(f"{word!r} did not come, only {self._text.decode()!r}")
        return self._text.decode()

    def end(self) -> tuple[int, str]:
        _, status = os.waitpid(self.replica.pid, 0)
        self._reader.join(LIMIT_SECONDS)
        return os.waitstatus_to_exitcode(status), self._text.decode()

    def _read(self) -> None:
        while chunk := os.read(self._output, 65536):
            with self._said:
                self._text += chunk
                self._said.notify_all()


def read_all(fd: int) -> str:
    """Until the end, which for a terminal is an error."""
    text = b""
    try:
        while chunk := os.read(fd, 65536):
            text += chunk
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    os.close(fd)
    return text.decode()


def exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


class Box:
    """One attempt: its namespaces and directories; `run` starts a replica in it."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self.mode = bubblewrap.Mode(settings["mode"])
        self.uid = settings["uid"]
        self.runtime = settings["runtime"]
        self.python = f"{self.runtime}/bin/python3"
        self.directory = Path(settings["directory"])
        for name in ("shm", "workspace"):
            (self.directory / name).mkdir()
        if self.mode is bubblewrap.Mode.ROOT:
            os.chown(self.directory / "workspace", self.uid, self.uid)
        self.host = bubblewrap.look_at_host()
        self.attempt = namespaces.open_attempt(
            self.mode, str(self.directory / "shm"), 64, out_door=settings["out_door"]
        )

    def beside(self) -> "Box":
        """Another attempt of the same user."""
        directory = self.directory / "beside"
        directory.mkdir()
        return Box(self._settings | {"directory": str(directory)})

    def spec(self, command: tuple[str, ...], **more: Any) -> bubblewrap.Sandbox:
        values: dict[str, Any] = {"hostname": "box", "tmp_mib": 64} | more
        values.setdefault("runtime", bubblewrap.Bind(self.runtime, self.runtime))
        return bubblewrap.Sandbox(
            self.mode,
            self.uid,
            self.uid,
            command=command,
            workspace=str(self.directory / "workspace"),
            shm=str(self.directory / "shm"),
            **values,
        )

    def start(
        self,
        *command: str,
        environment: dict[str, str] | None = None,
        cgroups: tuple[str, ...] = (),
        **more: Any,
    ) -> Running:
        """A replica that waits for its release; both outputs are one."""
        spec = self.spec(command, **more)
        ours, theirs = os.pipe()
        whole = bubblewrap.base_environment(spec) | (environment or {})
        silence = os.open("/dev/null", os.O_RDONLY)
        try:
            replica = launch.start(
                self.host, spec, self.attempt, whole, stdio=(silence, theirs, theirs), cgroups=cgroups
            )
        finally:
            os.close(theirs)
            os.close(silence)
        return Running(replica, ours)

    def run(self, *command: str, **more: Any) -> tuple[int, str]:
        return self.start(*command, **more).release().end()

    def open_door(self, *allowed: str) -> int:
        """Serves the door out; returns the pid of the process that does."""
        return outbound.start(self.attempt, self.uid, self.uid, allowed=allowed)

    def visit(self, running: Running, *command: str, **more: Any) -> exec_session.PendingExec:
        """Enters a running replica with pipes or a terminal; `read_all` has what comes of it."""
        environment = bubblewrap.base_environment(self.spec(command)) | {"TERM": "dumb"}
        visit = exec_session.ExecRequest(self.uid, self.uid, command, environment, **more)
        if visit.terminal is not None:
            return exec_session.begin(running.replica.inside, self.attempt, visit, None)
        self.visited, theirs = os.pipe()
        silence = os.open("/dev/null", os.O_RDONLY)
        entering = exec_session.begin(running.replica.inside, self.attempt, visit, (silence, theirs, theirs))
        os.close(theirs)
        os.close(silence)
        return entering

    def run_visit(self, running: Running, *command: str, **more: Any) -> tuple[int, str]:
        session = self.visit(running, *command, **more).finish()
        output = read_all(self.visited if session.terminal is None else session.terminal)
        return exit_code(session.pid), output

    def run_python(self, program: str, **more: Any) -> tuple[int, str]:
        return self.run(self.python, "-I", "-c", program, **more)


def main() -> None:
    settings = json.loads(sys.argv[1])
    names = {
        "box": Box(settings),
        "inbound": inbound,
        "outbound": outbound,
        "exec_session": exec_session,
        "exit_code": exit_code,
        "syscalls": syscalls,
        "launch": launch,
        "namespaces": namespaces,
        "bubblewrap": bubblewrap,
        "json": json,
        "os": os,
        "read_all": read_all,
        "socket": socket,
        "time": time,
    }
    exec(compile(sys.stdin.read(), "driver program", "exec"), names | settings["values"])


if __name__ == "__main__":
    main()
