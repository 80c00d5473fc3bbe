"""A Corral that was started warm is one like any other."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.storm import below
from tests.live import running_corral


def until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def words_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_bytes().decode().rstrip("\0").split("\0")


def test_warm_corral_has_processes_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORRAL_HOME", "/nowhere")
    with running_corral(tmp_path, "--log-level", "debug") as corral:
        pid = corral.process.pid
        ((_, child), *_) = below(pid)
        assert os.getsid(pid) == os.getpgid(pid) == pid != os.getsid(0)
        assert os.getpgid(child) == child
        assert words_of(pid)[1:4] == ["-I", "-m", "corral.server.parent"]
        assert words_of(child)[1:5] == ["-I", "-m", "corral.server.child", "api"]
        assert Path(f"/proc/{pid}/cwd").resolve() == tmp_path
        outside = {Path(f"/proc/{pid}/fd/{number}").resolve() for number in (1, 2)}
        assert outside == {tmp_path / "corral.log"}
        assert corral.stop() == 0
    assert "Corral has stopped." in corral.log.read_text()


def test_killed_warm_corral_says_how_it_ended_and_starts_again(tmp_path: Path) -> None:
    with running_corral(tmp_path) as corral:
        ((_, child), *_) = below(corral.process.pid)
        token = corral.local_token
        corral.process.send_signal(signal.SIGKILL)
        assert corral.process.wait(30) == -signal.SIGKILL
        until(lambda: not Path(f"/proc/{child}").exists())  # it ends with its parent
        (corral.home / "endpoints.json").unlink()
        corral.start_again()
        assert corral.local_token != token
