"""The parent of `corral up`: opens the port, starts the children, keeps them running, stops them in order.

Standard library only: the command checks the settings and then becomes this process by exec, so that nothing
heavy stays in memory. It knows nothing about what its children do.

    python -I -m corral.server.parent --settings-fd N

What a child is given
    argv    python -I -m <module> <name> --settings-fd A --ready-fd B --life-fd C --listen-fd D
            (<name> is `api` or `gateway`; the numbers are inherited descriptors)
    A       the checked settings: `corral.server.handover.take_over(A)` returns them as `Settings`
    B       write end of a pipe: one JSON object per line, then close it. Any number of
                {"progress": "Upgrading the database"}          shown on the terminal while starting; with
                                                                "seconds": n when this step may take long
            then exactly one of
                {"ready": true, "console": url, "login_link": url or null, "admin_name": name,
                 "password_file": path or null, "machine": {...}, "database": "SQLite 3.45 in ..."}
                {"error": "What is wrong.", "remedy": "What to do."}     and then exit with code 1
            `machine` is what `corral.accelerators.machine.Machine.as_dict()` gives.
    C       read end of a pipe that nobody writes to: end of file means that the parent is gone, so stop
            gracefully, as on SIGTERM
    D       the listening socket: `socket.socket(fileno=D)`; connections that came before are waiting in it
    environment, working directory, stdout and stderr are the parent's; stdin is empty; signals are at their
    defaults, none is blocked; the child leads its own process group, so Ctrl-C reaches only the parent. One
    more descriptor, the lock of the data directory, is inherited and simply stays open until the child ends.

What a child does
    SIGTERM: stop gracefully within 10 seconds; afterwards it is killed. A child that ends without being told
    to is started again, sooner the first time than the tenth; one that never became ready is not. One that
    is neither ready nor has made progress for 120 seconds (or the `seconds` it asked for) is killed.
"""

import json
import os
import random
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corral import __version__
from corral.engines.local.records.locks import holder
from corral.net.limits import limit_processes
from corral.server import banner
from corral.server.lock import HomeInUseError, lock_home
from corral.server.ports import PortError, listen

__all__ = ["main"]

API, GATEWAY = "api", "gateway"
CHILD_COMMANDS = {
    API: (sys.executable, "-I", "-m", "corral.server.child"),
    GATEWAY: (sys.executable, "-I", "-m", "corral.gateway.child"),
}
START_SECONDS = 120.0
STOP_SECONDS = 10.0
LOCK_WAIT_SECONDS = STOP_SECONDS + 2.0
FIRST_BACK_OFF_SECONDS = 0.5
LONGEST_BACK_OFF_SECONDS = 30.0
STEADY_SECONDS = 60.0
MOST_FAILED_RESTARTS = 6
LONGEST_REPORT_BYTES = 1_000_000


@dataclass
class Child:
    """One child: its process while it runs, and the time of its next start while it does not."""

    name: str
    process: subprocess.Popen[bytes] | None = None
    reports: int = -1
    life: int = -1
    unread: bytes = b""
    report: dict[str, Any] = field(default_factory=dict)
    was_ever_ready: bool = False
    failures: int = 0
    started_at: float = 0.0
    start_at: float | None = None
    patience: float = 0.0
    ready_by: float | None = None
    last_progress: str = ""


class CannotContinueError(Exception):
    """Corral stops: a child cannot be started, or not be kept running."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class Parent:
    """Watches pipes and signals in one loop without threads; every wait has a deadline or an event."""

    def __init__(
        self, handed_over: dict[str, Any], settings_fd: int, listeners: dict[str, socket.socket], lock: int
    ) -> None:
        self.handed_over = handed_over
        self.home = Path(handed_over["home"])
        self.settings_fd = settings_fd
        self.listeners = listeners
        self.lock = lock
        self.children = [Child(name, start_at=0.0) for name in listeners]
        self.selector = selectors.DefaultSelector()
        self.stops_asked = 0
        self.is_announced = False

    def run(self) -> int:
        """Runs until a stop signal; returns the exit code."""
        self._watch_signals()
        try:
            while not self.stops_asked:
                self._start_due()
                self._wait(self._next_deadline())
                self._end_those_stuck()
                self._reap()
        except CannotContinueError as error:
            banner.say_error(str(error), error.remedy)
            self._stop_all()
            return 1
        finally:
            (self.home / "endpoints.json").unlink(missing_ok=True)
        banner.say_stopping()
        clean = self._stop_all()
        banner.say_stopped(clean, _going_on(self.home))
        return 0 if clean else 1

    # Signals and pipes

    def _watch_signals(self) -> None:
        reader, writer = socket.socketpair()
        reader.setblocking(False)
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._wakeup = (reader, writer)
        self.selector.register(reader, selectors.EVENT_READ)
        # A server started with & ignores these two, and its children would inherit that.
        signal.signal(signal.SIGQUIT, signal.SIG_DFL)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._asked_to_stop)
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # ignored under nohup: keep it so
            signal.signal(signal.SIGHUP, self._asked_to_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())

    def _asked_to_stop(self, *_: object) -> None:
        self.stops_asked += 1

    def _wait(self, until: float | None) -> None:
        timeout = None if until is None else max(0.0, until - time.monotonic())
        for key, _ in self.selector.select(timeout):
            if isinstance(key.data, Child):
                self._read_reports(key.data)
            else:
                self._wakeup[0].recv(4096)

    def _read_reports(self, child: Child) -> None:
        try:
            data = os.read(child.reports, 65536)
        except BlockingIOError:  # something the child started holds the other end open
            data = b""
        if not data:
            self._close_reports(child)
            return
        child.unread += data
        *lines, child.unread = child.unread.split(b"\n")
        if len(child.unread) > LONGEST_REPORT_BYTES:
            raise CannotContinueError(f"The {child.name} process reports endlessly.", "Report this as a bug.")
        for line in lines:
            self._take_report(child, json.loads(line))

    def _take_report(self, child: Child, report: dict[str, Any]) -> None:
        if "progress" in report:
            child.last_progress = str(report["progress"])
            self._expect_ready(child, float(report.get("seconds", 0.0)))
            banner.say_progress(child.last_progress)
            return
        child.report, child.ready_by = report, None
        if not report.get("ready"):
            return
        if child.was_ever_ready:
            banner.say_recovered(f"The {child.name} process runs again.")
        child.was_ever_ready = True
        if all(each.report.get("ready") for each in self.children) and not self.is_announced:
            self.is_announced = True
            report = self.children[0].report
            try:
                self._write_endpoints(report)
            except OSError as error:
                remedy = "Check that the data directory can be written and has space."
                raise CannotContinueError(f"endpoints.json cannot be written: {error}.", remedy) from None
            banner.say_ready(self.handed_over, report)

    def _close_reports(self, child: Child) -> None:
        if child.reports >= 0:
            self.selector.unregister(child.reports)
            os.close(child.reports)
            child.reports = -1

    # Starting and starting again

    def _start_due(self) -> None:
        for child in self.children:
            if child.start_at is not None and child.start_at <= time.monotonic():
                self._start(child)

    def _next_deadline(self) -> float | None:
        waits = [each for child in self.children for each in (child.start_at, child.ready_by)]
        return min((each for each in waits if each is not None), default=None)

    def _expect_ready(self, child: Child, asked_seconds: float = 0.0) -> None:
        child.patience = max(START_SECONDS, asked_seconds)
        child.ready_by = time.monotonic() + child.patience

    def _end_those_stuck(self) -> None:
        """A child that hangs while starting would leave a terminal that waits for ever."""
        for child in self.children:
            if child.process is None or child.ready_by is None or child.ready_by > time.monotonic():
                continue
            said = f"its last report: {child.last_progress}" if child.last_progress else "it reported nothing"
            child.report = {
                "error": f"The {child.name} process was not ready within {child.patience:g} s; {said}.",
                "remedy": "Check that the database answers and that the machine is not overloaded "
                "(corral doctor), then start again.",
            }
            child.ready_by = None
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()

    def _start(self, child: Child) -> None:
        child.reports, ready = os.pipe()
        os.set_blocking(child.reports, False)
        life, child.life = os.pipe()
        listener = self.listeners[child.name]
        given = {"settings": self.settings_fd, "ready": ready, "life": life, "listen": listener.fileno()}
        command = [*CHILD_COMMANDS[child.name], child.name]
        for name, descriptor in given.items():
            command += [f"--{name}-fd", str(descriptor)]
        child.unread, child.report, child.start_at, child.last_progress = b"", {}, None, ""
        self._expect_ready(child)
        child.started_at = time.monotonic()
        child.process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=subprocess.DEVNULL, pass_fds=(*given.values(), self.lock), process_group=0
        )
        os.close(ready)
        os.close(life)
        self.selector.register(child.reports, selectors.EVENT_READ, child)

    def _reap(self) -> None:
        for child in self.children:
            if child.process is None or child.process.poll() is None:
                continue
            while child.reports >= 0:  # what it said before it ended
                self._read_reports(child)
            os.close(child.life)
            code, child.process, child.ready_by = child.process.returncode, None, None
            if not self.stops_asked:
                self._plan_restart(child, code)

    def _plan_restart(self, child: Child, code: int) -> None:
        """Decides when a child that ended by itself starts again, or that it does not."""
        error = child.report.get("error")
        if not child.was_ever_ready or child.failures >= MOST_FAILED_RESTARTS:
            if error:
                raise CannotContinueError(str(error), str(child.report.get("remedy") or ""))
            raise CannotContinueError(
                f"The {child.name} process {_how_it_ended(code)} before it was ready.",
                "The lines above say why. corral doctor checks what this machine has.",
            )
        steady = child.report.get("ready") and time.monotonic() - child.started_at >= STEADY_SECONDS
        child.failures = 1 if steady else child.failures + 1
        wait = min(FIRST_BACK_OFF_SECONDS * 2 ** (child.failures - 1), LONGEST_BACK_OFF_SECONDS)
        wait *= random.uniform(0.75, 1.25)  # noqa: S311 - spreads restarts, guards nothing
        child.start_at = time.monotonic() + wait
        why = f" ({error})" if error else ""
        banner.say_restart(f"The {child.name} process {_how_it_ended(code)}{why}.", wait)

    # Stopping

    def _stop_all(self) -> bool:
        """Ends all children, last started first; False if one had to be killed."""
        for listener in self.listeners.values():
            listener.close()
        running = [child.process for child in reversed(self.children) if child.process is not None]
        asked = self.stops_asked
        deadline = time.monotonic() + STOP_SECONDS
        for process in running:
            process.terminate()
        while any(process.poll() is None for process in running):
            if time.monotonic() >= deadline or self.stops_asked > asked:
                for process in running:
                    if process.poll() is None:
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                return self.stops_asked > asked
            self._wait(deadline)
        return True

    def _apps_url(self) -> str | None:
        apps = self.handed_over["apps"]
        return None if apps is None else f"{apps['scheme']}://*.{apps['domain']}"

    def _write_endpoints(self, report: dict[str, Any]) -> None:
        endpoints = {
            "console": report["console"],
            "api": f"{self.handed_over['local_url']}/api/v1",
            "apps": self._apps_url(),
            "pid": os.getpid(),
            "version": __version__,
        }
        if self.handed_over.get("certificate"):  # what the command on this machine may trust
            endpoints["certificate"] = self.handed_over["certificate"]
        path = self.home / "endpoints.json"
        temporary = self.home / "endpoints.json.new"
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(endpoints, file, indent=2)
            file.write("\n")
        temporary.replace(path)


def _how_it_ended(code: int) -> str:
    if code < 0:
        return f"was killed by {signal.Signals(-code).name}"
    return f"ended with code {code}"


def _running_pid(home: Path) -> int | None:
    try:
        return int(json.loads((home / "endpoints.json").read_text())["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _going_on(home: Path) -> int:
    """How many attempts are supervised: what they run outlives Corral."""
    attempts = (home / "work" / "run").glob("[!.]*/")
    return sum(holder(attempt) is not None for attempt in attempts)


def _read_settings(arguments: list[str]) -> tuple[dict[str, Any], int]:
    if len(arguments) != 2 or arguments[0] != "--settings-fd" or not arguments[1].isdigit():
        raise SystemExit("This is a part of Corral. Start it with: corral up")
    descriptor = int(arguments[1])
    handed_over: dict[str, Any] = json.loads(os.pread(descriptor, os.fstat(descriptor).st_size, 0))
    return handed_over, descriptor


def _keep_apps_port(handed_over: dict[str, Any], descriptor: int, port: int) -> None:
    """Tells the children which port was taken, if any would do."""
    apps = handed_over["apps"]
    if apps["port"] == port:
        return
    apps["domain"] = f"{apps['domain'].rpartition(':')[0]}:{port}"
    apps["port"] = handed_over["settings"]["apps_port"] = port
    with tempfile.TemporaryFile() as file:
        file.write(json.dumps(handed_over).encode())
        file.flush()
        os.dup2(file.fileno(), descriptor, inheritable=True)


def main(arguments: list[str]) -> int:
    limit_processes()
    handed_over, settings_fd = _read_settings(arguments)
    home = Path(handed_over["home"])
    try:
        lock = lock_home(home, LOCK_WAIT_SECONDS)
        listeners = {API: listen(handed_over["host"], handed_over["port"])}
        if handed_over["apps"] is not None:
            listeners[GATEWAY] = listen(handed_over["host"], handed_over["apps"]["port"], "--apps-port")
            _keep_apps_port(handed_over, settings_fd, listeners[GATEWAY].getsockname()[1])
    except HomeInUseError as error:
        pid = error.pid or _running_pid(home)
        who = f"process {pid}" if pid else "another process"
        stop = f"Stop it (kill {pid})" if pid else "Stop it"
        remedy = f"{stop}, or give this one its own: corral up --home <directory> --port <port>"
        banner.say_error(f"Another Corral ({who}) uses the data directory {home}.", remedy)
        return 1
    except PortError as error:
        banner.say_error(str(error), error.remedy)
        return 1
    return Parent(handed_over, settings_fd, listeners, lock).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
