"""The stages of `make test`: what each runs, what it needs, and how long it may take on two cores.

Standard library only. CONTRIBUTING.md says what each proves.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / ".cache" / "test"
BIN = ROOT / ".venv" / "bin"

# Tests outside these folders are sorted by whether they use a database (see tests/conftest.py).
OWN_STAGE = (
    "browser",
    "chaos",
    "cli",
    "docs",
    "engines",
    "packaging",
    "sdk",
    "security/hostile",
    "soak",
    "stories",
)
# Loading these takes seconds in each process, and none of them uses a database (tests/tools sees to that).
WITHOUT_DATABASE = ("core", "replay", "scheduling", "security/test_fuzzing.py", "tools")
CONSOLE = ("node-modules", "console")
UNIT_TESTS = "not sqlite and not postgresql"
# Which statements the tests of each database execute; the stage `databases` compares them.
SHAPES = OUTPUT / "shapes.jsonl"


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]
    junit: bool = False
    takes_arguments: bool = False
    prepares: bool = False  # counted only when it fails
    reads: tuple[str, ...] = ()  # all it depends on: not run again while nothing of it changed (earlier.py)


@dataclass(frozen=True)
class Stage:
    name: str
    checks: tuple[Check, ...]
    needs: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()  # words of `tools/prepare stage`
    budget: int = 60  # seconds on two cores with caches filled; over it is a note, because machines differ
    cores: float = 2  # about as many as it keeps busy; those that wait run beside each other
    after: tuple[str, ...] = ()  # stages that it reads the results of

    def exists(self) -> bool:
        return all((ROOT / path).exists() for path in self.needs)

    def steps(self) -> tuple[Check, ...]:
        if not self.prepare:
            return self.checks
        return (Check("prepare", ("tools/prepare", "stage", *self.prepare), prepares=True), *self.checks)


def pytest_check(name: str, paths: Iterable[str], *options: str, workers: int = 2) -> Check:
    present = [path for path in paths if (ROOT / path).exists()]
    parallel = [f"--forks={workers}"] if workers > 1 else []
    return Check(name, (str(BIN / "pytest"), *present, *options, *parallel), junit=True, takes_arguments=True)


def npm_check(
    name: str, script: str, *options: str, junit: bool = False, reads: tuple[str, ...] = ()
) -> Check:
    command = ("npm", "run", "--silent", "--prefix", "web", script, *options)
    return Check(name, command, junit=junit, reads=reads)


def stages() -> list[Stage]:
    """In the order of the table. A stage that starts early is long, or waits while another computes."""
    return [*checks(), *in_process(), *running_corral()]


def checks() -> list[Stage]:
    """What is read and not run, and the console's own tests."""
    return [
        Stage(
            "lint",
            (
                Check("ruff check", (str(BIN / "ruff"), "check", ".")),
                Check("ruff format", (str(BIN / "ruff"), "format", "--check", ".")),
            ),
            budget=5,
            cores=1,
        ),
        Stage("types", (Check("mypy", (str(BIN / "mypy"),)),), budget=45, cores=1),
        Stage(
            "imports",
            (Check("lint-imports", (str(BIN / "lint-imports"),)),),
            (".importlinter",),
            budget=5,
            cores=1,
        ),
        Stage(
            "console",
            (
                npm_check("prettier", "format:check", reads=("web",)),
                npm_check("eslint", "lint", reads=("web",)),
                npm_check("typescript", "typecheck", reads=("web",)),
                Check(
                    "API types",
                    ("tools/api-types", "--check"),
                    reads=("web", "src/corral", "uv.lock", "tools/api-types"),
                ),
                npm_check("vitest", "test", "--", "--reporter=default", "--reporter=junit", junit=True),
                Check("build", ("tools/prepare", "console")),
                npm_check("bundle size", "size"),
            ),
            ("web/package.json",),
            ("node-modules",),
            budget=90,
            cores=1,
        ),
    ]


def in_process() -> list[Stage]:
    """Tests that call Corral in their own process: without a database, on SQLite, on PostgreSQL."""
    elsewhere = [f"--ignore=tests/{folder}" for folder in OWN_STAGE]
    with_database = [*elsewhere, *(f"--ignore=tests/{folder}" for folder in WITHOUT_DATABASE)]
    return [
        Stage(
            "unit",
            (pytest_check("pytest", ["tests"], *elsewhere, "-m", UNIT_TESTS),),
            prepare=("sandbox", "compiler", *CONSOLE),
            budget=60,
        ),
        Stage(
            "api",
            (
                pytest_check(
                    "pytest",
                    ["tests"],
                    *with_database,
                    "-m",
                    "sqlite or postgresql",
                    "--postgresql=covering",
                    f"--shapes={SHAPES}",
                ),
            ),
            ("src/corral/store",),
            ("postgresql", "sandbox", *CONSOLE),
            budget=120,
        ),
        Stage(
            "databases",
            (Check("covered", (str(BIN / "python"), "tools/cover.py", "check")),),
            ("tests/covered.txt",),
            budget=5,
            cores=0,
            after=("api",),
        ),
    ]


def running_corral() -> list[Stage]:
    """Tests of what people start: work in sandboxes, the command, the console in a browser, the wheel."""
    return [
        Stage(
            "engines",
            (pytest_check("pytest", ["tests/engines", "tests/security/hostile"]),),
            ("tests/engines",),
            ("sandbox", "compiler", "network"),
            budget=120,
            cores=1,
        ),
        Stage(
            "stories",
            # They start a Corral each, and most of their time they wait for it.
            (pytest_check("pytest", ["tests/stories", "tests/chaos"]),),
            ("tests/stories",),
            ("sandbox",),
            budget=75,
            cores=1,
        ),
        Stage(
            "cli",
            (pytest_check("pytest", ["tests/cli"], "--forks-by=file"),),
            ("tests/cli",),
            ("postgresql", "sandbox", *CONSOLE),
            budget=60,
        ),
        Stage(
            "sdk",
            (
                Check("models", (str(BIN / "python"), "tools/sdk_models.py", "--check")),
                pytest_check("pytest", ["tests/sdk"], workers=1),
            ),
            ("tests/sdk",),
            ("sandbox",),
            budget=25,
            cores=1,
        ),
        Stage(
            "docs",
            (pytest_check("pytest", ["tests/docs"], workers=1),),
            ("tests/docs",),
            ("sandbox", *CONSOLE),
            budget=40,
            cores=1,
        ),
        Stage(
            "browser",
            # Half of its time a test waits for the page; a third one uses it.
            (pytest_check("pytest", ["tests/browser"], "--forks-by=file", workers=3),),
            ("tests/browser", "web/package.json"),
            ("browser", "sandbox", *CONSOLE),
            budget=180,
        ),
        Stage(
            "packaging",
            (pytest_check("pytest", ["tests/packaging"], workers=1),),
            ("tests/packaging",),
            ("sandbox", *CONSOLE),
            budget=20,
            cores=1,
        ),
    ]
