"""`corral up` as a person meets it: it starts, says where it is, comes back, and stops when asked."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from corral.server.ports import listeners_on
from tests.cli.running import Corral
from tests.live import LiveCorral, running_corral


def until(happened: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def api_process(live: LiveCorral) -> int:
    return next(pid for pid, command in listeners_on(live.port) if "corral.server.child" in command)


def test_the_first_start_shows_the_way_in(live_corral: LiveCorral) -> None:
    shown = live_corral.log.read_text()
    assert f"{live_corral.url}/login#once=" in shown
    assert str(live_corral.home / "admin-password") in shown
    assert "GPUs" in shown
    assert live_corral.admin_password not in shown
    # What belongs to people's work is theirs to reach once it is bound into their sandboxes.
    own = [
        path for path in live_corral.home.rglob("*") if "work" not in path.relative_to(live_corral.home).parts
    ]
    assert {path.stat().st_mode & 0o077 for path in own} == {0}
    assert live_corral.home.stat().st_mode & 0o077 == 0


def test_the_command_finds_a_restarted_api_and_nothing_is_lost(
    program: Corral, live_corral: LiveCorral
) -> None:
    home = str(live_corral.home)
    assert program("org", "create", "Kept", CORRAL_HOME=home).code == 0
    killed = api_process(live_corral)
    os.kill(killed, signal.SIGKILL)

    until(lambda: "The api process runs again." in live_corral.log.read_text())

    names = [each["name"] for each in program("org", "list", "--json", CORRAL_HOME=home).json]
    assert "Kept" in names
    assert api_process(live_corral) != killed
    assert json.loads((live_corral.home / "endpoints.json").read_text())["pid"] == live_corral.process.pid


def test_two_run_side_by_side_and_one_that_stopped_comes_back_without_asking(
    corral: Corral, live_corral: LiveCorral, tmp_path: Path
) -> None:
    with running_corral(tmp_path) as second:
        for live in (live_corral, second):
            assert corral("whoami", "--json", CORRAL_HOME=str(live.home)).json["url"] == live.url
        password = second.admin_password
        assert second.stop() == 0
    assert "Corral has stopped." in second.log.read_text()
    assert not (second.home / "endpoints.json").exists()

    with running_corral(tmp_path) as again:
        assert "Corral is ready." in again.log.read_text()
        assert again.admin_password == password
        assert again.stop() == 0


def test_a_port_and_a_data_directory_have_one_owner(
    program: Corral, live_corral: LiveCorral, tmp_path: Path
) -> None:
    pid, port = live_corral.process.pid, str(live_corral.port)

    taken = program("up", "--home", str(tmp_path / "other"), "--port", port)
    assert taken.code == 1
    assert f"Port {port} is in use by another Corral (process {pid})." in taken.err

    same_home = program("up", "--home", str(live_corral.home), "--port", port)
    assert same_home.code == 1
    assert f"Another Corral (process {pid})" in same_home.err
