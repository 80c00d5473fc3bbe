"""`corral up` as a person meets it: it starts, says where it is, comes back, and stops when asked."""

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from corral.server.ports import listeners_on
from tests.cli.running import Corral
from tests.live import LiveCorral, free_port, running_corral
from tests.postgres import Server


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


def test_two_run_side_by_side_and_one_port_has_one_owner(
    corral: Corral, program: Corral, live_corral: LiveCorral, tmp_path: Path
) -> None:
    one = live_corral
    for name in ("two", "three"):
        (tmp_path / name).mkdir()
    with running_corral(tmp_path / "two") as two:
        assert corral("whoami", "--json", CORRAL_HOME=str(one.home)).json["url"] == one.url
        assert corral("whoami", "--json", CORRAL_HOME=str(two.home)).json["url"] == two.url

    taken = program("up", "--home", str(tmp_path / "three"), "--port", str(one.port))
    assert taken.code == 1
    assert f"Port {one.port} is in use by another Corral (process {one.process.pid})." in taken.err

    same_home = program("up", "--home", str(one.home), "--port", str(one.port))
    assert same_home.code == 1
    assert f"Another Corral (process {one.process.pid})" in same_home.err


def test_a_database_that_is_not_there_is_told_without_a_trace(
    program: Corral, postgresql_server: Server, tmp_path: Path
) -> None:
    url = postgresql_server.url("not_there")
    port = str(free_port())
    refused = program("up", CORRAL_HOME=str(tmp_path / "home"), CORRAL_PORT=port, CORRAL_DATABASE_URL=url)
    assert refused.code == 1
    assert 'database "not_there" does not exist' in refused.err
    assert "corral config show" in refused.err
    assert "Traceback" not in refused.err
