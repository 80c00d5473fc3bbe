"""`corral doctor`: what is there, what is missing, what to do."""

import os
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corral.cli import checks
from corral.server.lock import lock_home
from corral.server.settings import Settings
from tests.cli.running import Corral, Outcome
from tests.server.authority import Authority


def check(outcome: Outcome, name: str) -> dict[str, Any]:
    (found,) = (each for each in outcome.json["checks"] if each["name"] == name)
    assert isinstance(found, dict)
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_machine_that_can_run_corral_is_told_so(corral: Corral, tmp_path: Path) -> None:
    shown = corral("doctor", CORRAL_HOME=str(tmp_path / "new"), CORRAL_PORT=str(free_port()))
    assert shown.code == 0, shown.out
    assert "Corral can run on this machine." in shown.out
    for name in (
        "Python",
        "SQLite",
        "Sandbox",
        "cgroups",
        "GPU",
        "Data directory",
        "Disk",
        "Database",
        "Node",
        "Chromium",
    ):
        assert name in shown.out
    assert not (tmp_path / "new").exists()


def test_what_is_not_ok_says_what_to_do(corral: Corral, tmp_path: Path) -> None:
    shown = corral("doctor", "--json", CORRAL_HOME=str(tmp_path / "new"), CORRAL_PORT=str(free_port()))
    assert shown.json["can_run"] is True
    for each in shown.json["checks"]:
        assert each["state"] == "ok" or each["remedy"], each


def test_programs_that_are_missing_are_named_with_their_package(corral: Corral, tmp_path: Path) -> None:
    shown = corral("doctor", "--json", PATH=str(tmp_path), CORRAL_PORT=str(free_port()))
    assert check(shown, "Sandbox")["state"] == "warn"
    assert check(shown, "Sandbox")["remedy"] == "apt install bubblewrap"
    assert check(shown, "Node")["remedy"] == "Install Node 20 or newer."


def test_uv_comes_with_corral_and_is_named_as_needed(corral: Corral, tmp_path: Path) -> None:
    shown = corral("doctor", "--json", PATH=str(tmp_path), CORRAL_PORT=str(free_port()))
    found = check(shown, "uv")
    assert (found["section"], found["state"]) == ("This machine", "ok")


def test_without_uv_doctor_says_what_cannot_be_done_and_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "find_uv", lambda: None)
    (found,) = (each for each in checks.machine_checks() if each.name == "uv")
    assert (found.state, found.found) == ("warn", "not installed: no runtime can be built")
    assert found.remedy.endswith("-m pip install uv")


def test_a_taken_port_keeps_corral_from_running(corral: Corral, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        shown = corral("doctor", "--json", CORRAL_PORT=port, PATH=str(tmp_path))
    assert shown.code == 1
    assert shown.json["can_run"] is False
    assert check(shown, f"Port {port}")["state"] == "missing"
    assert f"process {os.getpid()}" in check(shown, f"Port {port}")["found"]


def test_an_open_data_directory_is_named_with_the_command_that_closes_it(
    corral: Corral, tmp_path: Path
) -> None:
    home = tmp_path / "open"
    home.mkdir()
    home.chmod(0o777)
    given = {"CORRAL_HOME": str(home), "CORRAL_PORT": str(free_port()), "PATH": str(tmp_path)}
    shown = corral("doctor", "--json", **given)
    assert (check(shown, "Data directory")["state"], shown.code) == ("missing", 1)
    assert check(shown, "Data directory")["remedy"] == f"chmod 700 {home}"
    home.chmod(0o755)
    shown = corral("doctor", "--json", **given)
    assert (check(shown, "Data directory")["state"], shown.code) == ("warn", 0)


def test_directory_above_the_data_that_others_can_change_is_named(corral: Corral, tmp_path: Path) -> None:
    """Who can, puts another directory in the place of Corral's."""
    above, home = tmp_path / "above", tmp_path / "above" / "home"
    home.mkdir(parents=True, mode=0o700)
    given = {"CORRAL_HOME": str(home), "CORRAL_PORT": str(free_port())}
    assert check(corral("doctor", "--json", **given), "Data directory")["state"] == "ok"
    above.chmod(0o777)
    found = check(corral("doctor", "--json", **given), "Data directory")
    assert (found["state"], found["found"]) == ("warn", f"others may change {above}, and with it {home}")
    above.chmod(0o1777)
    assert check(corral("doctor", "--json", **given), "Data directory")["state"] == "ok"
    if os.geteuid() == 0:
        os.chown(above, 4321, 4321)
        assert check(corral("doctor", "--json", **given), "Data directory")["state"] == "warn"


def test_wrong_settings_are_part_of_the_answer(corral: Corral, tmp_path: Path) -> None:
    shown = corral("doctor", "--json", CORRAL_PORT="many", PATH=str(tmp_path))
    assert shown.code == 1
    assert "a whole number from 1 to 65535" in check(shown, "Settings")["found"]


def test_a_running_corral_on_the_port_is_no_problem(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        lock = lock_home(tmp_path)
        settings = Settings(home=tmp_path, port=listener.getsockname()[1])
        found = checks._port(settings)
        os.close(lock)
    assert (found.state, found.found) == ("ok", f"Corral runs here (process {os.getpid()})")


def test_the_certificate_is_looked_at_before_it_is_needed(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    good, soon = (authority.issue("a.example", label=str(days), days=days) for days in (30, 3))
    assert checks._certificate(good.certificate, good.key).state == "ok"
    assert checks._certificate(soon.certificate, soon.key).state == "warn"
    mixed = checks._certificate(good.certificate, soon.key)
    assert (mixed.state, "does not belong" in mixed.found) == ("missing", True)


@dataclass
class Usage:
    free: int
    total: int = 100 * 1024**3


@pytest.mark.parametrize(("free_mib", "state"), [(512, "missing"), (2048, "warn"), (10240, "ok")])
def test_a_small_disk_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_mib: int, state: str
) -> None:
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda _: Usage(free_mib * 1024**2))
    assert checks._disk(tmp_path).state == state
