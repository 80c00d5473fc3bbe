"""Packages are fetched from inside a sandbox, through the door out, as builds of runtimes do."""

import ensurepip
import hashlib
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.local.cage import Cage
from tests.engines.local.street import Street

PORT = 8080


@pytest.fixture
def index(tmp_path: Path, the_street: Street) -> Iterator[None]:
    """A package index at the neighbour's, with one tiny package."""
    name = "tiny_thing-1.0-py3-none-any.whl"
    folder = tmp_path / "simple" / "tiny-thing"
    folder.mkdir(parents=True)
    information = "tiny_thing-1.0.dist-info"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr("tiny_thing.py", "WORDS = 'from the index'\n")
        wheel.writestr(f"{information}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{information}/RECORD", "")
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    (folder / "index.html").write_text(f'<a href="{name}#sha256={digest}">{name}</a>')
    serve = [sys.executable, "-m", "http.server", str(PORT), "--directory", str(tmp_path)]
    with subprocess.Popen(
        the_street.at_neighbour([*serve, "--bind", "0.0.0.0"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdout is not None
        server.stdout.readline()  # written when it listens
        yield
        server.kill()


def pip_wheel() -> Path:
    """The pip that Python carries along; Debian keeps it elsewhere."""
    for folder in (Path(ensurepip.__file__).parent / "_bundled", Path("/usr/share/python-wheels")):
        for found in folder.glob("pip-*.whl"):
            return found
    pytest.fail("this Python carries no pip: on Debian, apt install python3-venv")


def install(cage: Cage, *allowed: str) -> tuple[int, str]:
    wheel = cage.directory / "pip.whl"
    shutil.copy(pip_wheel(), wheel)
    options = "-vvv --no-cache-dir --retries 0 --trusted-host mirror.lab --target packages"
    index = f"--index-url http://mirror.lab:{PORT}/simple"
    printed = cage.drive(
        """
        box.open_door(*allowed)
        environment = outbound.variables() | {"PYTHONPATH": "/pip.whl", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        binds = (bubblewrap.Bind(wheel, "/pip.whl"),)
        first = box.run(box.python, "-m", *command, environment=environment, binds=binds)
        second = box.run(box.python, "-c", "import tiny_thing; print(tiny_thing.WORDS)",
                         environment={"PYTHONPATH": "packages"})
        print(json.dumps([first, second]))
        """,
        out_door=True,
        allowed=allowed,
        wheel=str(wheel),
        command=f"pip install {options} {index} tiny-thing".split(),
    )
    (code, output), (_, used) = json.loads(printed)
    return code, output + used


@pytest.mark.usefixtures("index")
def test_pip_installs_from_an_index_that_is_allowed(cage_on_street: Cage) -> None:
    code, output = install(cage_on_street, "mirror.lab")
    assert code == 0, output
    assert "Successfully installed tiny-thing-1.0" in output
    assert output.endswith("from the index\n")


@pytest.mark.usefixtures("index")
def test_pip_is_refused_an_index_that_is_not(cage_on_street: Cage) -> None:
    code, output = install(cage_on_street)
    assert code != 0
    assert "403" in output
    assert "Refused by Corral" in output
