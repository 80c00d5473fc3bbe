"""The parent of `corral up`: what it gives its children, and what it does when they or it are ended."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from corral.server.handover import hand_over
from corral.server.lock import HomeInUseError, lock_home
from corral.server.settings import Settings

FAKE_CHILD = Path(__file__).with_name("fake_child.py")
RUN_PARENT = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever these tests were started under
from corral.server import parent
parent.CHILD_COMMANDS = dict.fromkeys(parent.CHILD_COMMANDS, (sys.executable, {child!r}))
parent.STOP_SECONDS = {stop_seconds}
parent.START_SECONDS = {start_seconds}
parent.LOCK_WAIT_SECONDS = 5.0
parent.FIRST_BACK_OFF_SECONDS = parent.LONGEST_BACK_OFF_SECONDS = 0.01
sys.exit(parent.main(sys.argv[1:]))
"""

Start = Callable[..., "Run"]


class Run:
    """One parent, with its terminal output going to a file."""

    def __init__(self, home: Path, port: int, words: str, stop_seconds: float, start_seconds: float) -> None:
        self.home = home
        self.log = home.with_suffix(f".{time.monotonic_ns()}.log")
        descriptor = hand_over(Settings(home=home, port=port, apps_port=0))
        script = RUN_PARENT.format(
            child=str(FAKE_CHILD), stop_seconds=stop_seconds, start_seconds=start_seconds
        )
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", script, "--settings-fd", str(descriptor)],
                env={**os.environ, "FAKE_CHILD": words},
                stdout=log,
                stderr=log,
                pass_fds=(descriptor,),
            )
        os.close(descriptor)

    def output(self) -> str:
        return self.log.read_text()

    def child_pids(self) -> list[int]:
        starts = self.home / "starts"
        return [int(line) for line in starts.read_text().splitlines()] if starts.exists() else []

    def until(self, happened: Callable[[], Any]) -> None:
        deadline = time.monotonic() + 20
        while not happened():
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.01)

    def until_ready(self) -> dict[str, Any]:
        self.until(lambda: (self.home / "endpoints.json").exists())
        endpoints: dict[str, Any] = json.loads((self.home / "endpoints.json").read_text())
        return endpoints

    def ended(self) -> int:
        return self.process.wait(20)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    runs: list[Run] = []

    def begin(
        words: str = "ready",
        *,
        port: int | None = None,
        stop_seconds: float = 10.0,
        start_seconds: float = 120.0,
    ) -> Run:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        runs.append(Run(home, port or free_port(), words, stop_seconds, start_seconds))
        return runs[-1]

    yield begin
    for run in runs:
        run.process.kill()
        run.process.wait()
        for pid in run.child_pids():
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def test_when_ready_it_names_the_addresses_and_shows_how_to_get_in(start: Start) -> None:
    port = free_port()
    run = start(port=port)

    endpoints = run.until_ready()
    run.until(lambda: "Ctrl-C" in run.output())

    assert endpoints == {
        "console": f"http://127.0.0.1:{port}",
        "api": f"http://127.0.0.1:{port}/api/v1",
        "apps": endpoints["apps"],
        "pid": run.process.pid,
        "version": endpoints["version"],
    }
    assert re.fullmatch(r"http://\*\.localhost:[1-9][0-9]+", endpoints["apps"])
    assert (run.home / "endpoints.json").stat().st_mode & 0o077 == 0
    output = run.output()
    for shown in (
        "Upgrading the database",
        f"http://127.0.0.1:{port}/login#once=abc",
        "admin",
        str(run.home / "admin-password"),
        str(run.home),
        "2 x Some CPU",
        "2.0 GiB",
        "none: simulated",
        "corral run -- echo hello",
        f"ssh -L {port}:127.0.0.1:{port}",
        "Ctrl-C stops Corral. Work goes on.",
    ):
        assert shown in output
    assert "\033[" not in output


def test_a_child_gets_settings_the_port_and_default_signals(start: Start) -> None:
    port = free_port()
    run = start(port=port)
    run.until_ready()

    assert json.loads((run.home / "facts.json").read_text()) == {
        "name": "api",
        "settings": port,
        "port": port,
        "interrupt": True,
        "quit": True,
        "blocked": 0,
        "leads_group": True,
    }


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_asked_to_stop_it_ends_its_children_and_takes_the_addresses_away(
    start: Start, number: signal.Signals
) -> None:
    run = start()
    run.until_ready()

    run.process.send_signal(number)

    assert run.ended() == 0
    assert not (run.home / "endpoints.json").exists()
    assert not is_alive(run.child_pids()[0])
    assert "Corral has stopped." in run.output()


def test_a_child_that_does_not_stop_in_time_is_killed(start: Start) -> None:
    run = start("deaf", stop_seconds=0.2)
    run.until_ready()

    run.process.terminate()

    assert run.ended() == 1
    assert not is_alive(run.child_pids()[0])
    assert "killed" in run.output()


def test_a_second_interrupt_stops_at_once(start: Start) -> None:
    run = start("deaf", stop_seconds=600.0)
    run.until_ready()

    run.process.send_signal(signal.SIGINT)
    run.until(lambda: "Stopping Corral" in run.output())
    run.process.send_signal(signal.SIGINT)

    assert run.ended() == 0
    assert not is_alive(run.child_pids()[0])


def test_a_child_that_falls_is_started_again_on_the_same_port(start: Start) -> None:
    run = start("fall,crash,ready")

    run.until(lambda: len(run.child_pids()) == 3)

    assert run.process.poll() is None
    assert "The api process ended with code 3. It starts again" in run.output()
    assert run.until_ready()["pid"] == run.process.pid
    run.until(lambda: "The api process runs again." in run.output())


def test_it_is_ready_when_both_children_are(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATE", "3")
    run = start("fall,fall,ready")

    run.until_ready()

    assert len(run.child_pids()) == 3
    assert run.output().count("Corral is ready.") == 1


def test_a_child_that_never_gets_up_again_is_given_up(start: Start) -> None:
    run = start("fall,crash")

    assert run.ended() == 1
    assert len(run.child_pids()) == 7
    assert "The api process ended with code 7 before it was ready." in run.output()
    assert not (run.home / "endpoints.json").exists()


def test_a_child_that_cannot_start_says_why_and_is_not_tried_again(start: Start) -> None:
    run = start("error")

    assert run.ended() == 1
    assert len(run.child_pids()) == 1
    assert "The database is newer than Corral." in run.output()
    assert "Upgrade Corral." in run.output()


def test_a_child_that_dies_silently_while_starting_is_told(start: Start) -> None:
    run = start("crash")

    assert run.ended() == 1
    assert "ended with code 7 before it was ready" in run.output()
    assert "corral doctor" in run.output()


@pytest.mark.parametrize(
    ("word", "said"), [("stuck", "its last report: Upgrading the database"), ("mute", "it reported nothing")]
)
def test_a_child_that_never_gets_ready_is_given_up_in_time(start: Start, word: str, said: str) -> None:
    run = start(word, start_seconds=3.0)

    assert run.ended() == 1
    assert f"The api process was not ready within 3 s; {said}." in run.output()
    assert "corral doctor" in run.output()
    assert not any(is_alive(pid) for pid in run.child_pids())


def test_a_child_that_hangs_when_started_again_is_tried_once_more(start: Start) -> None:
    run = start("fall,mute,ready", start_seconds=3.0)

    run.until(lambda: "The api process runs again." in run.output())

    assert "was not ready within 3 s; it reported nothing." in run.output()
    assert len(run.child_pids()) == 3
    assert run.process.poll() is None


def test_a_step_that_takes_long_gets_the_time_it_asks_for(start: Start, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    os.mkfifo(tmp_path / "home" / "go-on")
    run = start("slow", start_seconds=3.0)
    run.until(lambda: "Upgrading the database" in run.output())
    waited = time.monotonic() + 3.5
    run.until(lambda: time.monotonic() > waited)

    with (tmp_path / "home" / "go-on").open("w"):  # opens when the child reads: it is still there
        run.until_ready()


def test_children_end_when_the_parent_is_killed(start: Start) -> None:
    run = start()
    run.until_ready()

    run.process.kill()

    run.until(lambda: (run.home / "orphaned").exists())
    run.until(lambda: not is_alive(run.child_pids()[0]))


def test_a_new_parent_takes_over_from_a_killed_one(start: Start) -> None:
    port = free_port()
    first = start(port=port)
    first.until_ready()
    first.process.kill()
    first.process.wait()

    second = start(port=port)

    second.until(lambda: second.until_ready()["pid"] == second.process.pid)


def test_a_taken_port_names_who_has_it_and_another_port(start: Start) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = int(taken.getsockname()[1])
        run = start(port=port)

        assert run.ended() == 1
        assert f"Port {port} is in use by process {os.getpid()}" in run.output()
        assert "corral up --port" in run.output()
        assert run.child_pids() == []


def test_a_data_directory_in_use_names_the_process_that_uses_it(start: Start) -> None:
    first = start()
    first.until_ready()

    second = start()

    assert second.ended() == 1
    assert f"process {first.process.pid}" in second.output()
    assert f"kill {first.process.pid}" in second.output()
    assert first.process.poll() is None


def test_the_lock_is_free_again_when_its_descriptor_is_closed(tmp_path: Path) -> None:
    descriptor = lock_home(tmp_path)
    with pytest.raises(HomeInUseError) as refused:
        lock_home(tmp_path)
    assert refused.value.pid == os.getpid()
    os.close(descriptor)
    os.close(lock_home(tmp_path))


def test_the_parent_stays_small() -> None:
    ask = "import sys, corral.server.parent; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", ask], capture_output=True, text=True, check=True)
    heavy = {"pydantic", "rich", "typer", "asyncio", "fastapi", "sqlalchemy", "logging", "ssl"}
    assert heavy.isdisjoint(loaded.stdout.split())
