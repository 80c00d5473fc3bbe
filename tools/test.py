"""Runs the stages of `make test`, every one of them, and ends with the line `N passed, M failed`.

Standard library only. A stage is a list of checks; a check is a command that counts as one test, or
a command that writes a JUnit file whose cases are counted. A stage whose folder does not exist yet
is not run and not reported. Each check runs as on a stranger's machine (stranger.py), and each stage
has what it needs made ready first, so that it runs alone on a fresh clone. Stages that wait run beside
others (schedule.py); the lines come in the order of the table all the same.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Self, TextIO

import earlier
from schedule import run_side_by_side
from stages import OUTPUT, ROOT, Check, Stage, stages
from stranger import cache_folder, strangers_environment

STAGE_TIMEOUT_SECONDS = 900
LOG_LINES_ON_FAILURE = 150


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
    cpu_seconds: float = 0.0  # of its processes and of those they waited for
    failures: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)  # checks that passed before with the same files

    @property
    def note(self) -> str:
        over = f"over its {self.stage.budget} s" if self.seconds > self.stage.budget else ""
        kept = f"passed before, nothing changed: {', '.join(self.unchanged)}" if self.unchanged else ""
        return "; ".join(part for part in (", ".join(self.failures), over, kept) if part)


class Progress:
    """One line per stage; on a terminal, what runs now stands below the last one."""

    _running: ClassVar[dict[str, str]] = {}
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, prefix: str, *, live: bool) -> None:
        self.prefix = prefix
        self.live = live
        self.lines: list[str] = []

    def update(self, text: str) -> None:
        with self._lock:
            self._running[self.prefix] = text
            if self.live:
                now = " · ".join(f"{' '.join(who.split()[1:])} {what}" for who, what in self._running.items())
                print(f"\r\x1b[K{now[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)

    def note(self, text: str) -> None:
        """Shown together with the stage's line, when it is its turn."""
        self.lines.append(text)

    def finish(self, text: str) -> None:
        self.lines.insert(0, f"{self.prefix} {text}")
        with self._lock:
            self._running.pop(self.prefix, None)

    def show(self) -> None:
        with self._lock:
            clear = "\r\x1b[K" if self.live else ""
            print(clear + "\n".join(self.lines), flush=True)


_commands: set[subprocess.Popen[str]] = set()


def run_command(
    command: Sequence[str], log: Path, progress: Progress, label: str, *, stream: bool
) -> tuple[int, float]:
    """The command's exit code and CPU seconds; its output goes to the log, and is shown when streaming."""
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
        _commands.add(process)
        try:
            follow(process, written, progress, label, stream=stream)
            cpu_seconds = wait(process)
        finally:
            timer.cancel()
            _commands.discard(process)
        if timed_out.is_set():
            written.write(f"\nStopped: not finished within {STAGE_TIMEOUT_SECONDS} seconds.\n")
        return process.returncode, cpu_seconds


def wait(process: subprocess.Popen[str]) -> float:
    """The CPU seconds of an ended command; nothing is known of one that was stopped meanwhile."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except ChildProcessError:
        process.wait()
        return 0.0
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def stop_all() -> None:
    """After Ctrl-C: every command that runs, side by side, because each may take its time."""
    stopping = [
        threading.Thread(target=stop_group, args=(process, signal.SIGINT)) for process in list(_commands)
    ]
    for thread in stopping:
        thread.start()
    for thread in stopping:
        thread.join()


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
) -> tuple[Count, float]:
    slug = f"{stage.name}-{check.name}".replace(" ", "-")
    log, report = OUTPUT / f"{slug}.log", OUTPUT / f"{slug}.xml"
    report.unlink(missing_ok=True)
    command = [*check.command]
    if check.junit:
        command.append(f"--{'outputFile.junit' if check.command[0] == 'npm' else 'junit-xml'}={report}")
    if check.takes_arguments:
        command += arguments
    progress.update(check.name)
    code, cpu_seconds = run_command(command, log, progress, check.name, stream=stream)
    count = count_check(check, code, report)
    if count.failed and not stream:
        progress.note(f"{check.name} failed; {log.relative_to(ROOT)}:")
        lines = log.read_text(encoding="utf-8").splitlines()
        progress.note("\n".join(f"    {line}" for line in lines[-LOG_LINES_ON_FAILURE:]))
    return count, cpu_seconds


def run_stage(
    stage: Stage, progress: Progress, arguments: Sequence[str], *, stream: bool, anew: bool = False
) -> Result:
    result = Result(stage)
    started = time.monotonic()
    kept = cache_folder(os.environ) / "checks"
    for check in stage.steps():
        digest = earlier.key(ROOT, check.command, check.reads) if check.reads else ""
        if digest and not anew and earlier.has_passed(kept, digest):
            earlier.keep(kept, digest)
            result.count += Count(passed=1)
            result.unchanged.append(check.name)
            continue
        count, cpu_seconds = run_check(stage, check, arguments, progress, stream=stream)
        result.count += count
        result.cpu_seconds += cpu_seconds
        if count.failed:
            result.failures.append(check.name)
        elif digest:
            earlier.keep(kept, digest)
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


def print_table(results: Sequence[Result], seconds: float) -> None:
    titles = f"{'passed':>7} {'failed':>7} {'skipped':>8} {'seconds':>8} {'CPU':>8}"
    print(f"\n{'stage':<12} {'result':<8} {titles}")
    for result in results:
        count = result.count
        verdict = "failed" if count.failed else "passed"
        row = f"{result.stage.name:<12} {verdict:<8} {count.passed:>7} {count.failed:>7} {count.skipped:>8}"
        print(f"{row} {result.seconds:>8.1f} {result.cpu_seconds:>8.1f}  {result.note}".rstrip())
    cpu = sum(result.cpu_seconds for result in results)
    print(f"{'together':<46} {seconds:>8.1f} {cpu:>8.1f}")


def untracked_files() -> set[str]:
    """Files of the checkout that git neither has nor ignores; none where there is no git."""
    if not (ROOT / ".git").exists():
        return set()
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in found.stdout.split("\0") if name}


def choose(names: Sequence[str]) -> list[Stage]:
    """All that exist, or those named; one that reads the results of others needs them in the same run."""
    known = stages()
    there_are = {stage.name: stage for stage in known}
    if unknown := [name for name in names if name not in there_are]:
        raise ValueError(f"no stage {', '.join(unknown)}; there are {', '.join(sorted(there_are))}")
    if absent := [name for name in names if not there_are[name].exists()]:
        raise ValueError(f"stage {', '.join(absent)} has no tests yet")
    chosen = [stage for stage in known if stage.exists() and (not names or stage.name in names)]
    running = {stage.name for stage in chosen}
    for stage in chosen:
        if missing := [name for name in stage.after if name not in running]:
            raise ValueError(f"stage {stage.name} reads the results of {', '.join(missing)}: name them, too")
    return chosen


def run_stages(chosen: Sequence[Stage], arguments: Sequence[str], *, stream: bool, anew: bool = False) -> int:
    """Runs them, prints what became of them, and returns the exit code."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    before = untracked_files()
    started = time.monotonic()
    shown = [
        Progress(f"{number:>2}/{len(chosen)} {stage.name:<12}", live=sys.stdout.isatty() and not stream)
        for number, stage in enumerate(chosen, 1)
    ]
    results: list[Result | None] = [None] * len(chosen)

    def run(index: int) -> None:
        results[index] = run_stage(chosen[index], shown[index], arguments, stream=stream, anew=anew)

    # What streams would mix.
    run_side_by_side(
        chosen, run, lambda index: shown[index].show(), cores=0 if stream else os.cpu_count() or 1
    )
    done = [result for result in results if result is not None]
    print_table(done, time.monotonic() - started)
    total = Count()
    for result in done:
        total += result.count
    if left := sorted(untracked_files() - before):
        print(f"\nThe tests left files in the checkout: {', '.join(left)}", flush=True)
        total += Count(failed=1)
    print(f"\n{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed else 0


def main() -> int:
    names = ", ".join(stage.name for stage in stages())
    parser = argparse.ArgumentParser(description="Run the test stages.", allow_abbrev=False)
    parser.add_argument("stages", nargs="*", metavar="stage", help=names)
    parser.add_argument("--stream", action="store_true", help="show the output while it comes")
    parser.add_argument("--arguments", default="", help="further arguments for pytest")
    parser.add_argument("--anew", action="store_true", help="run also what passed before and did not change")
    options = parser.parse_args()
    try:
        chosen = choose(options.stages)
    except ValueError as error:
        parser.error(str(error))
    with ended_with_us():
        return run_stages(
            chosen, options.arguments.split(), stream=options.stream, anew=options.anew or options.stream
        )


@contextmanager
def ended_with_us() -> Iterator[None]:
    """Ctrl-C stops every command that runs before this process ends."""
    try:
        yield
    except KeyboardInterrupt:
        stop_all()
        raise


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        sys.exit(130)
