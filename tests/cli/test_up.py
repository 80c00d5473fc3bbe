"""`corral up` as a person meets it: it starts, says where it is, comes back, and stops when asked."""

import json
import os
import re
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corral.server import ports
from corral.server.ports import listeners_on
from tests.cli.running import Corral
from tests.live import LiveCorral, free_port, running_corral


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


def test_the_terminal_has_only_what_a_person_needs_and_names_the_file_with_the_rest(
    live_corral: LiveCorral,
) -> None:
    file = live_corral.home / "logs" / "corral.log"
    until(lambda: file.exists() and "this process runs the loop now" in file.read_text())
    shown = live_corral.log.read_text()
    assert re.search(rf"^ +Log +{re.escape(str(file))}$", shown, re.MULTILINE)
    assert "this process runs the loop now" not in shown
    assert "[info" not in shown
    assert file.stat().st_mode & 0o077 == 0


def test_what_an_administrator_must_know_is_on_the_terminal_in_one_line(
    program: Corral, tmp_path: Path
) -> None:
    with running_corral(tmp_path) as live:
        with sqlite3.connect(live.home / "corral.db") as broken:
            broken.execute("ALTER TABLE workload RENAME TO lost")
        broken.close()
        assert program("ps", CORRAL_HOME=str(live.home)).code != 0
        until(lambda: "database does not answer" in live.log.read_text())
        until(lambda: "turn failed" in live.log.read_text())
        shown = live.log.read_text()
        assert re.search(
            r"^! \S+ database does not answer \(error='.*no such table: workload'\)$", shown, re.MULTILINE
        )
        assert re.search(r"^! \S+ turn failed \(loop='.*no such table: workload", shown, re.MULTILINE)
        assert "Traceback" not in shown
        written = (live.home / "logs" / "corral.log").read_text()
        assert "no such table: workload" in written
        assert "Traceback" in written


def test_all_lines_go_to_the_terminal_where_that_is_set(tmp_path: Path) -> None:
    settings = {"CORRAL_LOG_TO": "terminal", "CORRAL_LOG_FORMAT": "json"}
    with running_corral(tmp_path, environment=settings) as live:
        until(lambda: '"event": "this process runs the loop now"' in live.log.read_text())
        assert not (live.home / "logs").exists()
        assert "  Log " not in live.log.read_text()


def test_a_log_file_that_cannot_be_made_is_named(program: Corral, tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    refused = program("up", "--home", str(tmp_path), "--port", str(free_port()))
    assert refused.code == 1
    assert f"The log file {tmp_path}/logs/corral.log cannot be written" in refused.err
    assert "log_to = terminal" in refused.err


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


def test_the_parent_is_named_also_where_its_child_has_the_lower_number(
    monkeypatch: pytest.MonkeyPatch, live_corral: LiveCorral
) -> None:
    """Numbers of processes begin anew when the last one is given."""
    owners = sorted(ports.listeners_on(live_corral.port), key=lambda one: "corral.server.parent" in one[1])
    assert len(owners) > 1
    monkeypatch.setattr(ports, "listeners_on", lambda _port: owners)
    with pytest.raises(ports.PortError, match=rf"another Corral \(process {live_corral.process.pid}\)"):
        ports.listen("127.0.0.1", live_corral.port)
