"""Real sandboxes for tests, as root and as an ordinary user.

The interpreter of the tests may lie where an ordinary user does not get (below root's home). So a copy of
it and of the engine's modules is put where everyone does; the ordinary user's engine runs from there, and
in both kinds it is the Python environment inside the sandbox.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import corral.engines.local
from tests.engines.local.street import Street

ORDINARY_UID = 54321
WORKLOAD_UID = 54322
OTHER_UID = 54323
LIMIT_SECONDS = 20

_LOCAL = Path(corral.engines.local.__file__).parent
_VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Installed:
    """Where everyone finds a Python and the engine's modules."""

    directory: Path

    @property
    def runtime(self) -> Path:
        return self.directory / "runtime"

    @property
    def python(self) -> Path:
        return self.runtime / "bin" / "python3"


@contextmanager
def installed() -> Iterator[Installed]:
    with tempfile.TemporaryDirectory(prefix="corral-cage-") as name:
        place = Installed(Path(name))
        place.directory.chmod(0o755)
        _copy_python(place.runtime)
        package = place.directory / "corral" / "engines" / "local"
        shutil.copytree(_LOCAL, package, ignore=shutil.ignore_patterns("__pycache__"))
        for directory in (package.parent, package.parent.parent):
            (directory / "__init__.py").touch()
        shutil.copy(Path(__file__).with_name("driver.py"), place.directory)
        yield place


def _copy_python(target: Path) -> None:
    base = Path(sys.base_prefix)
    libraries = target / "lib"
    (target / "bin").mkdir(parents=True)
    shutil.copy((base / "bin" / _VERSION).resolve(), target / "bin" / "python3")
    leave_out = shutil.ignore_patterns(
        "test", "tests", "site-packages", "dist-packages", "idlelib", "tkinter", "config-*"
    )
    shutil.copytree(base / "lib" / _VERSION, libraries / _VERSION, ignore=leave_out, symlinks=False)
    for shared in (base / "lib").glob("libpython3*.so*"):
        shutil.copy(shared, libraries)


@dataclass(frozen=True)
class Ended:
    """What a program came to, inside or outside."""

    code: int
    output: str


@contextmanager
def cage_of(mode: str, place: Installed, street: Street | None = None) -> Iterator["Cage"]:
    # Not pytest's own directory, which an ordinary user cannot enter.
    with tempfile.TemporaryDirectory(prefix="corral-run-") as name:
        Path(name).chmod(0o755)
        yield Cage(mode, place, Path(name), street)


class Cage:
    """One kind of engine: `mode` is root or user, `uid` is what the workload runs as."""

    def __init__(self, mode: str, place: Installed, directory: Path, street: Street | None = None) -> None:
        self.mode = mode
        self.place = place
        self.directory = directory
        as_root = os.geteuid() == 0
        self.engine_uid = ORDINARY_UID if mode == "user" and as_root else os.geteuid()
        self.uid = WORKLOAD_UID if mode == "root" else self.engine_uid
        self._street = street
        self._count = 0

    @property
    def python(self) -> str:
        return str(self.place.python)

    def drive(self, source: str, *, out_door: bool = False, secret: str | None = None, **values: Any) -> str:
        """Runs source as the engine does; it finds `box` and `values`. Returns what it printed.

        `secret` is in the environment of the engine.
        """
        self._count += 1
        run = self.directory / f"run{self._count}"
        run.mkdir()
        os.chown(run, self.engine_uid, self.engine_uid)
        settings = {
            "mode": self.mode,
            "uid": self.uid,
            "directory": str(run),
            "runtime": str(self.place.runtime),
            "out_door": out_door,
            "values": values,
        }
        driver = str(self.place.directory / "driver.py")
        done = self.as_engine([self.python, "-I", "-S", driver, json.dumps(settings)], dedent(source), secret)
        assert done.returncode == 0, f"the driver failed: {done.stdout}{done.stderr}"
        return done.stdout

    def run(self, *command: str, **more: Any) -> Ended:
        """A command inside the sandbox."""
        printed = self.drive("print(json.dumps(box.run(*command, **more)))", command=command, more=more)
        return Ended(*json.loads(printed))

    def run_python(self, program: str, **more: Any) -> Ended:
        """A Python program inside the sandbox."""
        return self.run(self.python, "-I", "-c", dedent(program), **more)

    def outside(self, program: str) -> Ended:
        """The same program with the same uid and no sandbox: what the sandbox is there for."""
        done = self.as_uid(self.uid, [self.python, "-I", "-c", dedent(program)], "", {})
        return Ended(done.returncode, done.stdout + done.stderr)

    def as_engine(
        self, command: list[str], source: str = "", secret: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return self.as_uid(self.engine_uid, command, source, {} if secret is None else {"SECRET": secret})

    def as_uid(
        self, uid: int, command: list[str], source: str, environment: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        if uid != os.geteuid():
            command = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--", *command]
        if self._street is not None:
            command = self._street.on_machine(command)
        return subprocess.run(
            command,
            input=source,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
            cwd="/",
            env={"PATH": os.environ["PATH"]} | environment,
        )
