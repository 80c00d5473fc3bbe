"""Every check of `make test` runs as on a machine on which nobody has worked before."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
_LOOK = (
    "import json, os, shutil, sys; print(json.dumps({'home': os.listdir(os.environ['HOME']), "
    "'found': {name: shutil.which(name) for name in sys.argv[1:]}, 'variables': dict(os.environ)}))"
)
_BY_HAND = ("uv", "go", "brought")


@pytest.fixture
def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of somebody who has installed much and configured more."""
    home = tmp_path / "home"
    programs = home / ".local" / "bin"
    programs.mkdir(parents=True)
    for name in _BY_HAND:
        (programs / name).write_text("#!/bin/sh\nexit 9\n")
        (programs / name).chmod(0o755)
    (home / ".npmrc").write_text("fund=false\n")
    (home / ".config" / "pip").mkdir(parents=True)
    (home / ".config" / "pip" / "pip.conf").write_text("[global]\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    for name, value in (
        ("CORRAL_HOME", "/somewhere"),
        ("CORRAL_TOKEN", "t"),
        ("GOPATH", "/somewhere"),
        ("PYTHONPATH", "/somewhere"),
        ("PYTHONDONTWRITEBYTECODE", "1"),
        ("UV_CACHE_DIR", "/somewhere"),
        ("XDG_CONFIG_HOME", "/somewhere"),
        ("https_proxy", "http://proxy.test"),
        ("PIP_INDEX_URL", "https://packages.test/simple"),
    ):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("CORRAL_CACHE", raising=False)
    for name in ("PIP_CONFIG_FILE", "NPM_CONFIG_USERCONFIG", "npm_config_userconfig"):
        monkeypatch.delenv(name, raising=False)
    return home


def look(runner: ModuleType, folder: Path, *names: str) -> dict[str, dict[str, str]]:
    """What a check finds."""
    log = folder / "check.log"
    progress = runner.Progress("", live=False)
    command = [sys.executable, "-c", _LOOK, *names]
    assert runner.run_command(command, log, progress, "look", stream=False)[0] == 0, log.read_text()
    found: dict[str, dict[str, str]] = json.loads(log.read_text())
    return found


def test_home_of_a_check_is_empty_and_goes_with_it(runner: ModuleType, crowded: Path, tmp_path: Path) -> None:
    found = look(runner, tmp_path)
    home = Path(found["variables"]["HOME"])
    assert found["home"] == []
    assert home != crowded
    assert not home.exists()


def test_what_somebody_installed_by_hand_is_not_on_the_path(
    runner: ModuleType, crowded: Path, tmp_path: Path
) -> None:
    assert {name: shutil.which(name) is not None for name in _BY_HAND} == dict.fromkeys(_BY_HAND, True)
    found = look(runner, tmp_path, *_BY_HAND)
    _own, *others = found["variables"]["PATH"].split(os.pathsep)
    assert others == ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]
    assert found["found"]["brought"] is None
    system = {name: shutil.which(name, path=os.pathsep.join(others)) for name in _BY_HAND}
    assert found["found"] == system


def test_python_node_and_npm_are_there_and_start(
    runner: ModuleType, crowded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = look(runner, tmp_path, "python3", "node", "npm", "npx")["found"]
    assert {Path(path).parent.name for path in found.values()} == {"bin"}
    with runner.strangers_environment() as environment:
        for name in ("python3", "node", "npm", "npx"):
            program = shutil.which(name, path=environment["PATH"])
            assert program is not None
            subprocess.run([program, "--version"], env=environment, check=True, capture_output=True)


def test_only_what_registries_need_is_passed_on(runner: ModuleType, crowded: Path, tmp_path: Path) -> None:
    found = look(runner, tmp_path)["variables"]
    assert found["https_proxy"] == "http://proxy.test"
    assert found["PIP_INDEX_URL"] == "https://packages.test/simple"
    assert found["NPM_CONFIG_USERCONFIG"] == str(crowded / ".npmrc")
    assert found["PIP_CONFIG_FILE"] == str(crowded / ".config/pip/pip.conf")
    unwanted = {"CORRAL_HOME", "CORRAL_TOKEN", "GOPATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}
    assert unwanted & set(found) == set()
    assert "XDG_CONFIG_HOME" not in found


def test_caches_are_under_the_one_that_is_passed_on(
    runner: ModuleType, crowded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for cache in (crowded / ".cache" / "corral", tmp_path / "another"):
        found = look(runner, tmp_path)["variables"]
        assert found["CORRAL_CACHE"] == str(cache)
        assert found["UV_CACHE_DIR"] == str(cache / "uv")
        assert found["npm_config_cache"] == str(cache / "npm")
        monkeypatch.setenv("CORRAL_CACHE", str(tmp_path / "another"))


def test_stage_has_what_it_needs_made_ready_first(runner: ModuleType) -> None:
    """Each runs alone on a fresh clone: what needs the console has it built, whatever ran before."""
    first = {stage.name: stage.steps()[0] for stage in runner.stages() if stage.prepare}
    assert all(check.prepares for check in first.values())
    assert "console" in first["api"].command
    assert set(first) == {stage.name for stage in runner.stages()} - {"lint", "types", "imports", "databases"}


def test_preparing_trusts_the_certificates_of_the_system(tmp_path: Path) -> None:
    """Behind a proxy that looks into TLS, npm and uv believe the authority that the machine believes."""
    store = Path("/etc/ssl/certs/ca-certificates.crt")
    if not store.exists():
        pytest.skip("this system keeps its certificates elsewhere")
    head = (ROOT / "tools" / "prepare").read_text().partition("step_number=0")[0]
    script = tmp_path / "tools" / "prepare"
    script.parent.mkdir()
    script.write_text(f"{head}env\n")
    for own, expected in (({}, store), ({"NODE_EXTRA_CA_CERTS": "/own.crt"}, Path("/own.crt"))):
        told = subprocess.run(
            ["/bin/bash", script],
            env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", **own},
            check=True, capture_output=True, text=True,
        ).stdout.splitlines()  # fmt: skip
        assert "UV_SYSTEM_CERTS=true" in told
        assert f"NODE_EXTRA_CA_CERTS={expected}" in told
