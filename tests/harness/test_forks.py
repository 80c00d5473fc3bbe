"""Tests that run in forks are reported as if they had run in one process."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_CONFTEST = """
import pytest
from tests import forks
pytest_addoption = forks.add_options
pytest_configure = forks.register
def pytest_collection_modifyitems(items):
    for item in items:
        if "shared" in item.fixturenames:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
"""
_TESTS = """
import os, signal, sys, pytest
def test_passes(tmp_path): (tmp_path / "file").write_text("here")
def test_fails():
    print("what it printed")
    assert [1, 2] == [1, 3]
def test_is_skipped(): pytest.skip("not here")
def test_is_killed(): os.kill(os.getpid(), signal.SIGKILL)
def test_exits(): os._exit(0)
@pytest.fixture
def broken(): yield; assert False, "in the end"
def test_ends_badly(broken): pass
@pytest.mark.parametrize("number", range(20))
def test_many(number): assert number < 20
"""
_SHARING = """
import os, pytest
@pytest.fixture(scope="module")
def shared(): yield os.getpid(); print("torn down once")
@pytest.mark.parametrize("number", range(6))
def test_share(shared, number): assert shared == os.getpid()
"""

# The report of the first test cannot be written; the other fork is in the middle of one.
_BREAKS = """
def pytest_runtest_logreport(report):
    raise BrokenPipeError
"""
_WAITS = """
import pytest
@pytest.fixture(scope="session")
def server():
    yield
    with open("said", "a") as said: said.write("torn down\\n")
@pytest.mark.parametrize("number", range(50))
def test_many(server, number): pass
"""


def run(folder: Path, *options: str) -> tuple[str, dict[str, str]]:
    """What the terminal shows, and what became of each test."""
    for name, content in {"conftest": _CONFTEST, "test_a": _TESTS, "test_b": _SHARING}.items():
        (folder / f"{name}.py").write_text(content)
    (folder / "pytest.ini").write_text(f"[pytest]\npythonpath = {_ROOT}\nmarkers = xdist_group\n")
    plain = ["-p", "no:xdist", "-p", "no:schemathesis", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", "-q", *plain, "--junit-xml=report.xml", *options]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    found: dict[str, str] = {}
    for case in ElementTree.parse(folder / "report.xml").getroot().iter("testcase"):
        name = str(case.get("name"))
        found[name] = ", ".join([*(part for part in [found.get(name)] if part), *(one.tag for one in case)])
    assert ended.returncode == (1 if "failed" in ended.stdout else 0), ended.stdout + ended.stderr
    return ended.stdout, found


@pytest.mark.parametrize("by", ["test", "file"])
def test_every_test_is_run_once_and_reported(tmp_path: Path, by: str) -> None:
    shown, found = run(tmp_path, "--forks=3", f"--forks-by={by}")
    assert "3 failed, 28 passed, 1 skipped, 1 error" in shown
    assert len(found) == 32
    ends = {name: how for name, how in found.items() if how}
    assert ends == {
        "test_fails": "failure",
        "test_is_skipped": "skipped",
        "test_is_killed": "failure",
        "test_exits": "failure",
        "test_ends_badly": "error",
    }
    assert "what it printed" in shown
    assert "assert [1, 2] == [1, 3]" in shown
    assert "The process that ran this test ended with -9." in shown


def test_forks_end_with_the_process_that_forked_them(tmp_path: Path) -> None:
    """Also when that one only cannot write any more."""
    (tmp_path / "conftest.py").write_text(_CONFTEST + _BREAKS)
    (tmp_path / "test_a.py").write_text(_WAITS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\npythonpath = {_ROOT}\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-p", "no:schemathesis", "--forks=2"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode not in {0, 1}
    assert "torn down" in (tmp_path / "said").read_text()


def test_first_failure_stops_the_rest(tmp_path: Path) -> None:
    _, found = run(tmp_path, "--forks=2", "--forks-by=file", "-x", "-k", "test_fails or test_many")
    assert list(found) == ["test_fails", "test_many[0]"]  # what was to come next came
