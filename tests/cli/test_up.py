"""`corral up` as a person meets it: it starts, says where it is, comes back, and stops when asked."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from corral.server.ports import listeners_on
from tests.cli.conftest import Corral
from tests.live import LiveCorral, running_corral


def until(happened: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def api_process(live: LiveCorral) -> int:
    return next(pid for pid, command in listeners_on(live.port) if "corral.server.child" in command)


def test_the_first_start_shows_the_way_in_and_the_second_asks_nothing(tmp_path: Path) -> None:
    with running_corral(tmp_path) as live:
        first = live.log.read_text()
        assert f"{live.url}/login#once=" in first
        assert str(live.home / "admin-password") in first
        assert "GPUs" in first
        assert live.admin_password not in first
        assert {path.stat().st_mode & 0o077 for path in live.home.rglob("*")} == {0}
        assert live.stop() == 0
    assert "Corral has stopped." in live.log.read_text()
    assert not (live.home / "endpoints.json").exists()
    before = live.admin_password
    with running_corral(tmp_path) as again:
        assert "Corral is ready." in again.log.read_text()
        assert again.admin_password == before
        assert again.stop() == 0


def test_the_command_finds_a_restarted_api_and_nothing_is_lost(corral: Corral, tmp_path: Path) -> None:
    with running_corral(tmp_path) as live:
        home = str(live.home)
        assert corral("org", "create", "Kept", CORRAL_HOME=home).code == 0
        killed = api_process(live)
        os.kill(killed, signal.SIGKILL)

        until(lambda: "The api process runs again." in live.log.read_text())

        names = [each["name"] for each in corral("org", "list", "--json", CORRAL_HOME=home).json]
        assert "Kept" in names
        assert api_process(live) != killed
        assert json.loads((live.home / "endpoints.json").read_text())["pid"] == live.process.pid


def test_two_run_side_by_side_and_one_port_has_one_owner(corral: Corral, tmp_path: Path) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / name).mkdir()
    with running_corral(tmp_path / "one") as one, running_corral(tmp_path / "two") as two:
        assert corral("whoami", "--json", CORRAL_HOME=str(one.home)).json["url"] == one.url
        assert corral("whoami", "--json", CORRAL_HOME=str(two.home)).json["url"] == two.url

        taken = corral("up", "--home", str(tmp_path / "three"), "--port", str(one.port))
        assert taken.code == 1
        assert f"Port {one.port} is in use by another Corral (process {one.process.pid})." in taken.err

        same_home = corral("up", "--home", str(one.home), "--port", str(one.port))
        assert same_home.code == 1
        assert f"Another Corral (process {one.process.pid})" in same_home.err
