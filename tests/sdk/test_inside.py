"""Programs tell Corral how their work goes, and hear when it is time to go; elsewhere they run as well."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

PYTHON = [sys.executable, "-c"]


class Listener:
    """The workload socket, as the engine offers it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.heard: list[dict[str, object]] = []
        self.answer: dict[str, object] = {"ok": True}
        self.connections = 0
        self.hang_up_after: int | None = None
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._hear, args=[connection], daemon=True).start()

    def _hear(self, connection: socket.socket) -> None:
        # A program that ends in the middle of a message, or before its answer, hangs up without a word.
        with contextlib.suppress(ConnectionError), connection, connection.makefile("rwb") as lines:
            for line in lines:
                if not line.endswith(b"\n"):
                    return
                self.heard.append(json.loads(line))
                lines.write(json.dumps(self.answer).encode() + b"\n")
                lines.flush()
                if self.hang_up_after == len(self.heard):
                    connection.shutdown(socket.SHUT_RDWR)
                    return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[Listener]:
    made = Listener(tmp_path / "workload.sock")
    yield made
    made.close()


def run(program: str, where: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {key: value for key, value in os.environ.items() if not key.startswith("CORRAL_")}
    return subprocess.run(
        [*PYTHON, f"import corral_sdk\n{program}"],
        cwd=where,
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def inside(program: str, listener: Listener, **variables: str) -> "subprocess.CompletedProcess[str]":
    where = {"CORRAL_SOCKET": str(listener.path), "CORRAL_WORKSPACE": str(listener.path.parent)}
    return run(program, listener.path.parent, **where, **variables)


def test_what_is_reported_arrives_in_order_over_one_connection(listener: Listener) -> None:
    program = """
class Scalar:
    def item(self): return 0.25
corral_sdk.report(step=1, loss=0.5, note="warm", best=True)
corral_sdk.report(step=2, loss=Scalar())
corral_sdk.report(loss=float("nan"))
corral_sdk.checkpoint("out.json", step=2)
corral_sdk.done()
"""
    done = inside(program, listener)
    assert (done.returncode, done.stderr) == (0, "")
    assert listener.connections == 1
    assert listener.heard == [
        {"kind": "report", "body": {"step": 1, "loss": 0.5, "note": "warm", "best": True}},
        {"kind": "report", "body": {"step": 2, "loss": 0.25}},
        {"kind": "report", "body": {"loss": "nan"}},
        {"kind": "checkpoint", "body": {"path": "out.json", "step": 2}},
        {"kind": "done", "body": {}},
    ]


def test_outside_of_corral_it_says_so_once_and_does_nothing(tmp_path: Path) -> None:
    program = """
for step in range(3): corral_sdk.report(step=step)
corral_sdk.checkpoint("x"); corral_sdk.done()
print(corral_sdk.resuming(), corral_sdk.resume_path(), corral_sdk.leaving())
"""
    done = run(program, tmp_path)
    assert (done.returncode, done.stdout) == (0, "False None False\n")
    assert done.stderr.count("does not run inside Corral") == 1
    assert not list(tmp_path.iterdir())


def test_connection_that_was_cut_is_made_again(listener: Listener) -> None:
    listener.hang_up_after = 1
    done = inside("corral_sdk.report(a=1); corral_sdk.report(a=2); corral_sdk.report(a=3)", listener)
    assert (done.returncode, done.stderr) == (0, "")
    assert [one["body"] for one in listener.heard] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert listener.connections == 2


def test_work_goes_on_when_corral_does_not_hear_or_refuses(listener: Listener, tmp_path: Path) -> None:
    program = "corral_sdk.report(a=1); corral_sdk.report(a=2); print('went on')"
    deaf = run(program, tmp_path, CORRAL_SOCKET=str(tmp_path / "nobody"))
    assert (deaf.returncode, deaf.stdout) == (0, "went on\n")
    assert deaf.stderr.count("did not hear the report") == 1
    listener.answer = {"ok": False, "error": "the disk is full"}
    refused = inside(program, listener)
    assert (refused.returncode, refused.stdout) == (0, "went on\n")
    assert refused.stderr.count("did not take the report: the disk is full") == 1


@pytest.mark.parametrize("call", ["report(a=[1])", "report(**{str(n): n for n in range(65)})"])
def test_mistake_of_the_program_is_told_at_once(listener: Listener, call: str) -> None:
    done = inside(f"corral_sdk.{call}", listener)
    assert done.returncode == 1
    assert "Error: " in done.stderr
    assert listener.heard == []


def test_processes_that_fork_have_a_connection_each(listener: Listener) -> None:
    program = """
import os
corral_sdk.report(who="parent")
if os.fork() == 0:
    corral_sdk.report(who="child"); os._exit(0)
os.wait()
corral_sdk.report(who="parent")
"""
    assert inside(program, listener).returncode == 0
    assert listener.connections == 2
    assert sorted(str(one["body"]) for one in listener.heard) == [
        "{'who': 'child'}",
        "{'who': 'parent'}",
        "{'who': 'parent'}",
    ]


def test_next_attempt_finds_the_last_checkpoint(listener: Listener) -> None:
    where = listener.path.parent
    first = "import os\nopen('a', 'w').close(); open('b', 'w').close(); os.chdir('/')\n"
    inside(first + "corral_sdk.checkpoint('a'); corral_sdk.checkpoint('b')", listener, RANK="0")
    ask = "print(corral_sdk.resuming(), corral_sdk.resume_path())"
    assert inside(ask, listener, CORRAL_RESUME="0").stdout == "False None\n"
    assert inside(ask, listener, CORRAL_RESUME="1").stdout == f"True {where}/b\n"
    # Another process of the gang, which never saved anything, goes on from what the first one saved.
    assert inside(ask, listener, CORRAL_RESUME="1", RANK="3").stdout == f"True {where}/b\n"
    (where / "b").unlink()
    assert inside(ask, listener, CORRAL_RESUME="1").stdout == "True None\n"


def test_what_a_program_inside_needs_is_small(tmp_path: Path) -> None:
    """The client with its HTTP is imported by those who use it."""
    there = "print('http.client' in sys.modules)"
    program = f"import sys; {there}; corral_sdk.Client; {there}"
    assert run(program, tmp_path).stdout == "False\nTrue\n"
    assert run("corral_sdk.nothing", tmp_path).returncode == 1


def test_everything_that_is_promised_is_there(tmp_path: Path) -> None:
    assert run("for name in corral_sdk.__all__: getattr(corral_sdk, name)", tmp_path).returncode == 0


def started(program: str, listener: Listener) -> "subprocess.Popen[str]":
    environment = dict(os.environ) | {"CORRAL_SOCKET": str(listener.path)}
    made = subprocess.Popen(
        [*PYTHON, f"import corral_sdk, time\n{program}"],
        cwd=listener.path.parent,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert made.stdout is not None
    assert made.stdout.readline() == "ready\n"
    return made


def test_program_hears_that_it_is_time_to_go(listener: Listener) -> None:
    program = """
corral_sdk.leaving(); print("ready", flush=True)
while not corral_sdk.leaving(): time.sleep(0.01)
print("saved", flush=True)
"""
    process = started(program, listener)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=30)[0] == "saved\n"
    assert process.returncode == 0


def test_callback_saves_and_the_program_ends_even_in_the_middle_of_a_report(listener: Listener) -> None:
    program = """
corral_sdk.on_leave(lambda: corral_sdk.checkpoint("last"))
print("ready", flush=True)
while True: corral_sdk.report(step=1)
"""
    process = started(program, listener)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 143
    assert [one for one in listener.heard if one["kind"] == "checkpoint"] == [
        {"kind": "checkpoint", "body": {"path": "last"}}
    ]
