"""The wheels stand on their own: in an empty environment, without Node, Corral serves its console."""

import os
import re
import shutil
import subprocess
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import corral
from tests.live import LiveCorral, running_corral

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both wheels, as make wheel builds them, by distribution name."""
    folder = tmp_path_factory.mktemp("dist")
    run("tools/wheel", str(folder))
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


@pytest.fixture(scope="module")
def path_without_node(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH on which node and npm cannot be found, and the rest of the machine can."""
    folder = tmp_path_factory.mktemp("bin")
    for name in ("env", "sh", "setpriv", "uname", "ldd"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, wheels: dict[str, Path]) -> Path:
    """A virtual environment with the two wheels and what they ask for, nothing of this checkout."""
    folder = tmp_path_factory.mktemp("empty") / "venv"
    uv = run("tools/prepare", "uv").strip()
    run(uv, "venv", "--quiet", "--python", os.path.realpath(ROOT / ".venv" / "bin" / "python"), str(folder))
    # The versions that were tested, not whatever is newest today.
    constraints = folder / "constraints.txt"
    arguments = ("--locked", "--no-dev", "--no-emit-workspace", "--no-hashes")
    constraints.write_text(run(uv, "export", "--quiet", *arguments))
    python = str(folder / "bin" / "python")
    run(
        uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        python,
        "--compile-bytecode",
        "--constraints",
        str(constraints),
        *map(str, wheels.values()),
    )
    return folder


@pytest.fixture(scope="module")
def installed_corral(
    environment: Path, path_without_node: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LiveCorral]:
    folder = tmp_path_factory.mktemp("installed")
    program = environment / "bin" / "corral"
    with running_corral(folder, program=program, environment={"PATH": path_without_node}) as live:
        yield live


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{command[:3]} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def fetch(address: str) -> tuple[str, str]:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.headers.get_content_type(), answer.read().decode()


def test_wheel_holds_the_console_the_migrations_and_the_licence(wheels: dict[str, Path]) -> None:
    names = zipfile.ZipFile(wheels["corral"]).namelist()
    assert "corral/server/console/index.html" in names
    assert any(re.fullmatch(r"corral/server/console/assets/[^/]+\.js", name) for name in names)
    assert any(re.fullmatch(r"corral/store/migrations/versions/[^/]+\.py", name) for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_wheel_holds_no_cache_test_or_source_of_the_console(wheels: dict[str, Path]) -> None:
    for wheel in wheels.values():
        strangers = [
            name
            for name in zipfile.ZipFile(wheel).namelist()
            if re.search(r"__pycache__|node_modules|\.tsx?$|(^|/)tests?/", name)
        ]
        assert strangers == []


def test_sdk_wheel_asks_for_nothing_but_python(wheels: dict[str, Path]) -> None:
    archive = zipfile.ZipFile(wheels["corral_sdk"])
    metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    assert "Requires-Dist" not in archive.read(metadata).decode()


def test_node_is_out_of_reach(path_without_node: str) -> None:
    assert shutil.which("node", path=path_without_node) is None
    assert shutil.which("npm", path=path_without_node) is None


def test_installed_command_tells_its_version(environment: Path) -> None:
    assert corral.__version__ in run(str(environment / "bin" / "corral"), "version")


def test_installed_corral_serves_the_login_page_with_script_and_mark(installed_corral: LiveCorral) -> None:
    kind, page = fetch(f"{installed_corral.url}/login")
    assert kind == "text/html"
    script = re.search(r'<script type="module"[^>]* src="(/assets/[^"]+\.js)"', page)
    assert script, page
    kind, code = fetch(installed_corral.url + script[1])
    assert kind == "text/javascript"
    assert code
    mark = re.search(r'<link rel="icon"[^>]* href="([^"]+\.svg)"', page)
    assert mark, page
    kind, drawing = fetch(installed_corral.url + mark[1])
    assert kind == "image/svg+xml"
    assert "<svg" in drawing


def test_installed_corral_stops_on_ctrl_c(installed_corral: LiveCorral) -> None:
    assert installed_corral.stop() == 0
    assert not (installed_corral.home / "endpoints.json").exists()
