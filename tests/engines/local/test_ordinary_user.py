"""The same tests as an ordinary user: a copy of them and of what they need is run under another uid."""

import importlib.metadata
import os
import shutil
import subprocess
from pathlib import Path

import corral_sdk
import pytest

import corral
from tests.engines.local.cage import ORDINARY_UID, Installed

TESTS = Path(__file__).resolve().parents[2]
DISTRIBUTIONS = (
    "pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pytest-asyncio",
    "typing_extensions",
    "nvidia-ml-py",
    "pygments",
)
PACKAGES = ("core", "accelerators", "engines")
SETTINGS = """
[pytest]
pythonpath = .
addopts = --import-mode=importlib -p no:cacheprovider -ra
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""


@pytest.fixture(scope="session")
def copied(place: Installed) -> Path:
    """A directory in which everyone can run the tests of the local engine."""
    directory = place.directory / "suite"
    directory.mkdir()
    for name in DISTRIBUTIONS:
        copy_distribution(name, directory)
    source = Path(corral.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    for package in PACKAGES:
        shutil.copytree(source / package, directory / "corral" / package, ignore=ignore)
    shutil.copy(source / "__init__.py", directory / "corral")
    shutil.copytree(Path(corral_sdk.__file__).parent, directory / "corral_sdk", ignore=ignore)
    shutil.copytree(
        TESTS / "engines",
        directory / "tests" / "engines",
        ignore=shutil.ignore_patterns("__pycache__", "conftest.py"),
    )
    (directory / "pytest.ini").write_text(SETTINGS)
    return directory


def copy_distribution(name: str, target: Path) -> None:
    for file in importlib.metadata.distribution(name).files or []:
        if file.parts[0] != ".." and "__pycache__" not in file.parts:
            place = target / Path(*file.parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(Path(str(file.locate())), place)


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests themselves run as an ordinary user")
@pytest.mark.parametrize(
    "names",
    [
        "test_engine",
        "test_life supervise/test_inbound_sessions",
        "test_impostor test_restart files/test_user_ids",
        "supervise/test_disk_watch",
        "files/test_user_files files/test_sealing",
        "files/test_odd_files records/test_records",
    ],
)
def test_everything_holds_for_an_ordinary_user(copied: Path, place: Installed, names: str) -> None:
    files = [f"tests/engines/local/{name}.py" for name in names.split()]
    done = subprocess.run(
        [str(place.python), "-B", "-m", "pytest", "-q", *files],
        cwd=copied,
        env={"PATH": os.environ["PATH"], "HOME": str(copied)},
        user=ORDINARY_UID,
        group=ORDINARY_UID,
        extra_groups=[],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
