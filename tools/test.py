"""Runs the stages of `make test`, every one of them, and ends with the line `N passed, M failed`.

Standard library only. A stage is a list of checks; a check is a command that counts as one test, or
a command that writes a JUnit file whose cases are counted. A stage whose folder does not exist yet
is not run and not reported. Each check runs as on a stranger's machine (stranger.py), and each stage
has what it needs made ready first, so that it runs alone on a fresh clone.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TextIO

from stranger import strangers_environment

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / ".cache" / "test"
BIN = ROOT / ".venv" / "bin"
STAGE_TIMEOUT_SECONDS = 900
LOG_LINES_ON_FAILURE = 150

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


@dataclass(frozen=True)
class Check:
    name: str
    command: tuple[str, ...]
    junit: bool = False
    takes_arguments: bool = False
    prepares: bool = False  # counted only when it fails


@dataclass(frozen=True)
class Stage:
    name: str
    checks: tuple[Check, ...]
    needs: tuple[str, ...] = ()
    prepare: tuple[str, ...] = ()  # words of `tools/prepare stage`

    def exists(self) -> bool:
        return all((ROOT / path).exists() for path in self.needs)

    def steps(self) -> tuple[Check, ...]:
        if not self.prepare:
            return self.checks
        return (Check("prepare", ("tools/prepare", "stage", *self.prepare), prepares=True), *self.checks)


@dataclass
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __iadd__(self, other: Count) -> Self:
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        return self


@dataclass
class Result:
    stage: Stage
    count: Count = field(default_factory=Count)
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def pytest_check(name: str, paths: Iterable[str], *options: str, workers: int = 2) -> Check:
    present = [path for path in paths if (ROOT / path).exists()]
    parallel = ["-n", str(workers)] if workers > 1 else []
    return Check(name, (str(BIN / "pytest"), *present, *options, *parallel), junit=True, takes_arguments=True)


def npm_check(name: str, script: str, *options: str, junit: bool = False) -> Check:
    return Check(name, ("npm", "run", "--silent", "--prefix", "web", script, *options), junit=junit)


def stages() -> list[Stage]:
    console = ("node-modules", "console")
    elsewhere = [f"--ignore=tests/{folder}" for folder in OWN_STAGE]
    with_database = [*elsewhere, *(f"--ignore=tests/{folder}" for folder in WITHOUT_DATABASE)]
    return [
        Stage(
            "lint",
            (
                Check("ruff check", (str(BIN / "ruff"), "check", ".")),
                Check("ruff format", (str(BIN / "ruff"), "format", "--check", ".")),
            ),
        ),
        Stage("types", (Check("mypy", (str(BIN / "mypy"),)),)),
        Stage("imports", (Check("lint-imports", (str(BIN / "lint-imports"),)),), (".importlinter",)),
        Stage(
            "console",
            (
                npm_check("eslint", "lint"),
                npm_check("typescript", "typecheck"),
                Check("API types", ("tools/api-types", "--check")),
                npm_check("vitest", "test", "--", "--reporter=default", "--reporter=junit", junit=True),
                Check("build", ("tools/prepare", "console")),
                npm_check("bundle size", "size"),
            ),
            ("web/package.json",),
            ("node-modules",),
        ),
        Stage(
            "unit",
            (pytest_check("pytest", ["tests"], *elsewhere, "-m", "not sqlite and not postgresql"),),
            prepare=("sandbox", "compiler", *console),
        ),
        Stage(
            "sqlite",
            (pytest_check("pytest", ["tests"], *with_database, "-m", "sqlite"),),
            ("src/corral/store",),
            ("sandbox", *console),
        ),
        Stage(
            "postgresql",
            (pytest_check("pytest", ["tests"], *with_database, "-m", "postgresql"),),
            ("src/corral/store",),
            ("postgresql", "sandbox", *console),
        ),
        Stage(
            "engines",
            (pytest_check("pytest", ["tests/engines", "tests/security/hostile"]),),
            ("tests/engines",),
            ("sandbox", "compiler", "network"),
        ),
        Stage(
            "stories",
            # They start a Corral each, and most of their time they wait for it.
            (pytest_check("pytest", ["tests/stories", "tests/chaos"]),),
            ("tests/stories",),
            ("sandbox",),
        ),
        Stage(
            "cli",
            (pytest_check("pytest", ["tests/cli"], "--dist=loadfile"),),
            ("tests/cli",),
            ("postgresql", "sandbox", *console),
        ),
        Stage("sdk", (pytest_check("pytest", ["tests/sdk"], workers=1),), ("tests/sdk",), ("sandbox",)),
        Stage(
            "docs",
            (pytest_check("pytest", ["tests/docs"], workers=1),),
            ("tests/docs",),
            ("sandbox", *console),
        ),
        Stage(
            "browser",
            # Half of its time a test waits for the page; a third one uses it.
            (pytest_check("pytest", ["tests/browser"], "--dist=loadfile", workers=3),),
            ("tests/browser", "web/package.json"),
            ("browser", "sandbox", *console),
        ),
        Stage(
            "packaging",
            (pytest_check("pytest", ["tests/packaging"], workers=1),),
            ("tests/packaging",),
            ("sandbox", *console),
        ),
    ]


class Progress:
    """One line per stage; on a terminal it is rewritten while the stage runs."""

    def __init__(self, prefix: str, *, live: bool) -> None:
        self.prefix = prefix
        self.live = live
        self.started = time.monotonic()

    def update(self, text: str) -> None:
        if self.live:
            elapsed = time.monotonic() - self.started
            print(f"\r\x1b[K{self.prefix} {elapsed:6.1f} s  {text}", end="", flush=True)

    def finish(self, text: str) -> None:
        print(f"\r\x1b[K{self.prefix} {text}" if self.live else f"{self.prefix} {text}", flush=True)


def run_command(command: Sequence[str], log: Path, progress: Progress, label: str, *, stream: bool) -> int:
    """The command's exit code; its output goes to the log, and to the terminal when streaming."""
    timed_out = threading.Event()

    def give_up(process: subprocess.Popen[str]) -> None:
        timed_out.set()
        stop_group(process)

    always = {"UV_PYTHON_DOWNLOADS": "never", "PYTHONUNBUFFERED": "1", "CI": os.environ.get("CI", "1")}
    with (
        strangers_environment() as environment,
        log.open("w", encoding="utf-8") as written,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment | always,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            text=True,
            errors="replace",
        ) as process,
    ):
        timer = threading.Timer(STAGE_TIMEOUT_SECONDS, give_up, [process])
        timer.start()
        try:
            follow(process, written, progress, label, stream=stream)
        except KeyboardInterrupt:
            stop_group(process, first=signal.SIGINT)
            raise
        finally:
            timer.cancel()
        if timed_out.is_set():
            written.write(f"\nStopped: not finished within {STAGE_TIMEOUT_SECONDS} seconds.\n")
        return process.wait()


def follow(
    process: subprocess.Popen[str], log: TextIO, progress: Progress, label: str, *, stream: bool
) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        log.write(line)
        if stream:
            print(line, end="", flush=True)
        elif percent := re.search(r"\[ *(\d+)%\]", line):
            progress.update(f"{label} {percent[1]} %")
    process.wait()


def stop_group(process: subprocess.Popen[str], first: signal.Signals = signal.SIGTERM) -> None:
    """Stops the command and its children; a test server gets time to stop its own."""
    for sign, patience in ((first, 20), (signal.SIGTERM, 5), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, sign)
            process.wait(patience)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return


def count_junit(path: Path) -> Count:
    count = Count()
    for case in ElementTree.parse(path).getroot().iter("testcase"):  # noqa: S314 -- our own file
        if case.find("failure") is not None or case.find("error") is not None:
            count.failed += 1
        elif case.find("skipped") is not None:
            count.skipped += 1
        else:
            count.passed += 1
    return count


def count_check(check: Check, code: int, report: Path) -> Count:
    if not check.junit:
        return Count(passed=int(code == 0 and not check.prepares), failed=int(code != 0))
    count = count_junit(report) if report.exists() else Count()
    if not count.failed and (code != 0 or not count.passed):
        count.failed += 1  # it broke outside a test case, or ran no test at all
    return count


def run_check(
    stage: Stage, check: Check, arguments: Sequence[str], progress: Progress, *, stream: bool
) -> Count:
    slug = f"{stage.name}-{check.name}".replace(" ", "-")
    log, report = OUTPUT / f"{slug}.log", OUTPUT / f"{slug}.xml"
    report.unlink(missing_ok=True)
    command = [*check.command]
    if check.junit:
        command.append(f"--{'outputFile.junit' if check.command[0] == 'npm' else 'junit-xml'}={report}")
    if check.takes_arguments:
        command += arguments
    progress.update(check.name)
    code = run_command(command, log, progress, check.name, stream=stream)
    count = count_check(check, code, report)
    if count.failed and not stream:
        progress.finish(f"{check.name} failed; {log.relative_to(ROOT)}:")
        lines = log.read_text(encoding="utf-8").splitlines()
        print("\n".join(f"    {line}" for line in lines[-LOG_LINES_ON_FAILURE:]), flush=True)
    return count


def run_stage(stage: Stage, prefix: str, arguments: Sequence[str], *, stream: bool) -> Result:
    result = Result(stage)
    progress = Progress(prefix, live=sys.stdout.isatty() and not stream)
    started = time.monotonic()
    for check in stage.steps():
        count = run_check(stage, check, arguments, progress, stream=stream)
        result.count += count
        if count.failed:
            result.failures.append(check.name)
    result.seconds = time.monotonic() - started
    progress.finish(f"{describe(result.count)}  {result.seconds:.1f} s")
    return result


def describe(count: Count) -> str:
    parts = [f"{count.passed} passed"]
    if count.failed:
        parts.append(f"{count.failed} failed")
    if count.skipped:
        parts.append(f"{count.skipped} skipped")
    return ", ".join(parts)


def print_table(results: Sequence[Result]) -> None:
    print(f"\n{'stage':<12} {'result':<8} {'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8}")
    for result in results:
        count = result.count
        verdict = "failed" if count.failed else "passed"
        row = f"{result.stage.name:<12} {verdict:<8} {count.passed:>7} {count.failed:>7} {count.skipped:>8}"
        print(f"{row} {result.seconds:>8.1f}  {', '.join(result.failures)}".rstrip())


def main() -> int:
    known = stages()
    parser = argparse.ArgumentParser(description="Run the test stages.", allow_abbrev=False)
    parser.add_argument("stages", nargs="*", metavar="stage", help=", ".join(stage.name for stage in known))
    parser.add_argument("--stream", action="store_true", help="show the output while it comes")
    parser.add_argument("--arguments", default="", help="further arguments for pytest")
    options = parser.parse_args()

    names = {stage.name for stage in known}
    if unknown := [name for name in options.stages if name not in names]:
        parser.error(f"no stage {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    chosen = [stage for stage in known if not options.stages or stage.name in options.stages]
    if absent := [stage.name for stage in chosen if options.stages and not stage.exists()]:
        parser.error(f"stage {', '.join(absent)} has no tests yet")
    chosen = [stage for stage in chosen if stage.exists()]

    OUTPUT.mkdir(parents=True, exist_ok=True)
    results = []
    for number, stage in enumerate(chosen, 1):
        prefix = f"{number:>2}/{len(chosen)} {stage.name:<12}"
        results.append(run_stage(stage, prefix, options.arguments.split(), stream=options.stream))
    print_table(results)
    total = Count()
    for result in results:
        total += result.count
    print(f"\n{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        sys.exit(130)
