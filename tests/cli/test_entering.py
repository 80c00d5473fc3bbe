"""`corral exec` and `corral port-forward`: into work that really runs."""

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, Corral, Done, run_program
from tests.cli.terminal import Terminal
from tests.live import LiveCorral

numbers = count(1)
# Says on port 8888 what it is told, louder, one connection after the other.
LISTENS = """
import socket
server = socket.create_server(("127.0.0.1", 8888))
print("here", flush=True)
while True:
    caller, _ = server.accept()
    with caller:
        while data := caller.recv(65536):
            caller.sendall(data.upper())
"""


@pytest.fixture
def starter(someone: dict[str, str], live_corral: LiveCorral) -> dict[str, str]:
    return {**someone, "CORRAL_HOME": str(live_corral.home)}


@pytest.fixture
def work(admin: Corral, done: Done) -> Iterator[str]:
    """Work that runs until it is stopped, and listens."""
    name = f"entered-{next(numbers)}"
    started = admin("run", "--no-upload", "-d", "--name", name, "-e", "WHO=me", "--", "python", "-c", LISTENS)
    assert started.code == 0, started.err
    _until(lambda: "here" in admin("logs", name).out)
    yield name
    done("stop", name)
    _until(lambda: done("describe", name)["state"] == "stopped")


def _until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_command_in_running_work_has_its_output_errors_and_exit_code(
    starter: dict[str, str], work: str
) -> None:
    script = "echo $WHO; echo wrong >&2; exit 3"
    ended = run_program("exec", work, "--", "sh", "-c", script, environ=starter)
    assert (ended.code, ended.out, ended.err) == (3, "me\n", "wrong\n")


def test_input_is_passed_on_to_its_end(starter: dict[str, str], work: str) -> None:
    text = "line\n" * 100_000
    ended = run_program("exec", "-i", work, "--", "wc", "-l", environ=starter, stdin=text)
    assert (ended.code, ended.out.strip()) == (0, "100000")
    assert run_program("exec", work, "cat", environ=starter, stdin=text).out == ""


def test_terminal_is_one(starter: dict[str, str], work: str) -> None:
    with Terminal("exec", "-it", work, "--", "sh", environ=starter) as terminal:
        terminal.type("test -t 0 && echo is-a-$((1+1))-terminal\n")
        terminal.wait_for("is-a-2-terminal")
        assert not terminal.echoes
        terminal.type("exit 4\n")
        assert terminal.ended() == 4
        assert terminal.echoes


def test_what_cannot_be_entered_says_why(admin: Corral, starter: dict[str, str]) -> None:
    work = admin("run", "--no-upload", "-d", "--memory", "1Ti", "--", "true").out.strip()
    refused = admin("exec", work, "--", "true")
    assert refused.code == 1
    assert "nothing of it runs" in refused.err
    assert "nothing listens" in admin("port-forward", work, "8888").err
    assert "names no ports" in admin("port-forward", work, "8888:").err
    assert "Leave out -t" in admin("exec", "-t", work, "--", "true").err
    admin("stop", work)


def test_port_is_reached_from_here(starter: dict[str, str], work: str, tmp_path: Path) -> None:
    errors = tmp_path / "errors"
    with (
        errors.open("w") as written,
        subprocess.Popen(
            [str(PROGRAM), "port-forward", work, ":8888", ":9999"],
            env=starter,
            stdout=subprocess.PIPE,
            stderr=written,
            text=True,
        ) as process,
    ):
        assert process.stdout is not None
        ports = [int(process.stdout.readline().split()[0].rpartition(":")[2]) for _ in range(2)]
        for text in (b"first", b"second" * 50_000):
            assert _said(ports[0], text) == text.upper()
        assert _said(ports[1], b"nobody") == b""
        process.terminate()
    assert "9999" in errors.read_text()


def _said(port: int, text: bytes) -> bytes:
    """What comes back over a connection on which this was said."""
    with socket.create_connection(("127.0.0.1", port), 30) as connection:
        try:
            connection.sendall(text)
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            while data := connection.recv(65536):
                answer += data
        except ConnectionError:
            return b""
        return answer
