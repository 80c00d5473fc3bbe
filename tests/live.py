"""A real `corral up` for tests: its own data directory, its own port, stopped by its process id."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import warm_start
from tests.runs import current_run

START_SECONDS = 60
STOP_SECONDS = 20
WORK_SECONDS = 3
LOG_LINES = 60


Process = subprocess.Popen[bytes] | warm_start.WarmProcess


@dataclass
class LiveCorral:
    home: Path
    port: int
    log: Path
    start: Callable[[], Process]
    process: Process
    url: str = ""
    changed_password: str | None = None

    @property
    def admin_name(self) -> str:
        return "admin"

    @property
    def admin_password(self) -> str:
        return self.changed_password or (self.home / "admin-password").read_text().strip()

    @property
    def local_token(self) -> str:
        return (self.home / "local-token").read_text().strip()

    def log_tail(self) -> str:
        """The end of what the terminal showed, and of the log file."""
        shown = [path for path in (self.log, self.home / "logs" / "corral.log") if path.exists()]
        lines = (path.read_text(errors="replace").splitlines()[-LOG_LINES:] for path in shown)
        return "\n".join(line for tail in lines for line in tail)

    def wait_until_ready(self) -> None:
        """Returns when Corral answers (endpoints.json is there) and its banner is whole."""
        endpoints = self.home / "endpoints.json"
        deadline = time.monotonic() + START_SECONDS
        while not endpoints.exists() or "Ctrl-C stops Corral." not in self.log.read_text(errors="replace"):
            if self.process.poll() is not None:
                raise AssertionError(f"corral up ended with {self.process.returncode}:\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"corral up was not ready in {START_SECONDS} s:\n{self.log_tail()}")
            time.sleep(0.05)
        self.url = json.loads(endpoints.read_text())["console"]

    def start_again(self) -> None:
        """After `stop`: the same home and port, as when a machine comes back."""
        self.process = self.start()
        self.wait_until_ready()

    def stop(self) -> int:
        """Ctrl-C, and the exit code; a Corral that does not stop in time is killed and fails the test."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                raise AssertionError(
                    f"corral up did not stop in {STOP_SECONDS} s:\n{self.log_tail()}"
                ) from None
        return self.process.returncode


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def corral_environment(home: Path, port: int, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a Corral that is not the developer's own one."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("CORRAL_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    return (
        inherited
        | {"CORRAL_HOME": str(home), "CORRAL_PORT": str(port), "CORRAL_APPS_PORT": "0"}
        | dict(more or {})
    )


@contextmanager
def running_corral(
    folder: Path,
    *flags: str,
    program: Path | None = None,
    environment: Mapping[str, str] | None = None,
    warm: bool = True,
) -> Iterator[LiveCorral]:
    """Starts `corral up` in this folder and stops it afterwards; not `warm`: from nothing, as people do."""
    home, log, port = folder / "home", folder / "corral.log", free_port()
    command = [str(program or Path(sys.executable).parent / "corral"), "up", *flags]
    variables = corral_environment(home, port, environment)

    def start_cold() -> Process:
        with log.open("wb") as written:
            return subprocess.Popen(
                # Also when the test process is killed, its Corral ends.
                ["setpriv", "--pdeathsig", "INT", *command],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=written,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a group of its own, so that a stubborn one can be killed whole
            )

    def start_warm() -> Process:
        run = current_run()
        if not home.exists() and "CORRAL_DATABASE_URL" not in variables:
            home.mkdir(mode=0o700)
            shutil.copyfile(warm_start.migrated_file(run), home / "corral.db")
            (home / "corral.db").chmod(0o600)
        with log.open("wb") as written:
            return warm_start.start(run, command, cwd=folder, environment=variables, log=written.fileno())

    start = start_warm if warm and program is None else start_cold
    corral = LiveCorral(home=home, port=port, log=log, start=start, process=start())
    try:
        corral.wait_until_ready()
        yield corral
    finally:
        corral.stop()
        end_work(home)


def end_work(home: Path) -> None:
    """Work outlives its Corral, but not the test that began it."""
    left = supervisors(home)
    for pid in left:
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + WORK_SECONDS
    while left := [pid for pid in left if _is_supervisor(pid)]:
        if time.monotonic() > deadline:
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            return
        time.sleep(0.05)


def supervisors(home: Path) -> list[int]:
    """Those that live: the number of one that ended may be another process's by now."""
    found = []
    for begun in (home / "work" / "run").glob("*/begun.json"):
        with contextlib.suppress(OSError, ValueError, KeyError):  # written, or removed, at this moment
            found.append(int(json.loads(begun.read_text())["pid"]))
    return [pid for pid in found if _is_supervisor(pid)]


def _is_supervisor(pid: int) -> bool:
    try:
        return b"forkserver.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
