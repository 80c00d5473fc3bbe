"""Runs mutmut as pyproject.toml says and compares what survived with docs/scheduling/mutants.md.

Standard library only. Every run starts from nothing: a kept result says nothing about tests that changed.
Ends with 1 if a mutant survived that the page does not list, or if the page lists one that did not.
"""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MUTMUT = ROOT / ".venv" / "bin" / "mutmut"
WORK = ROOT / "mutants"
LOG = ROOT / ".cache" / "logs" / "mutants.log"
PAGE = ROOT / "docs" / "scheduling" / "mutants.md"
KILLED = {"killed", "timeout", "caught by type check"}
ROW = re.compile(r"^\| `(?P<place>[^`]+)` \| `(?P<old>[^`]+)` \| `(?P<new>[^`]+)` \| .+ \|$", re.MULTILINE)


@dataclass(frozen=True, order=True)
class Mutant:
    """Where it is (file.function), the line as it was, and as it was changed."""

    place: str
    old: str
    new: str


def main() -> int:
    shutil.rmtree(WORK, ignore_errors=True)
    LOG.parent.mkdir(parents=True, exist_ok=True)
    print(f"mutmut runs; some minutes. Its own words: {LOG.relative_to(ROOT)}", flush=True)
    with LOG.open("w") as log:
        workers = str(os.cpu_count() or 1)
        ended = subprocess.run([MUTMUT, "run", "--max-children", workers], cwd=ROOT, stdout=log, stderr=log)
    statuses = read_statuses()
    if ended.returncode or not statuses:
        print("\n".join(LOG.read_text().splitlines()[-40:]))
        return ended.returncode or 1
    print_counts(statuses)
    survived = {mutant(name) for name, status in statuses.items() if status not in KILLED}
    listed = {Mutant(**row.groupdict()) for row in ROW.finditer(PAGE.read_text())}
    print_mutants("Survived, with a reason in docs/scheduling/mutants.md:", survived & listed)
    print_mutants("Survived without a reason; write a test that kills it, or why not:", survived - listed)
    print_mutants("Listed there, but killed or gone: take it off the page:", listed - survived)
    return int(survived != listed)


def read_statuses() -> dict[str, str]:
    """The status of every mutant by its name."""
    told = mutmut("results", "--all", "true")
    return dict(re.findall(r"^ *(\S+): (.+)$", told, re.MULTILINE))


def mutant(name: str) -> Mutant:
    """What mutmut calls package.file.x_function__mutmut_1, with the line it changed."""
    lines = mutmut("show", name).splitlines()
    changes = {
        sign: " ".join(
            line[1:].strip() for line in lines if line.startswith(sign) and not line.startswith(sign * 3)
        )
        for sign in "-+"
    }
    return Mutant(place(name), changes["-"], changes["+"])


def place(name: str) -> str:
    module, _, function = name.rpartition(".")
    function = function.rpartition("__mutmut_")[0].removeprefix("xǁ").removeprefix("x_").replace("ǁ", ".")
    return f"{module.rpartition('.')[2]}.{function}"


def print_counts(statuses: dict[str, str]) -> None:
    made = Counter(place(name).partition(".")[0] for name in statuses)
    killed = Counter(place(name).partition(".")[0] for name, status in statuses.items() if status in KILLED)
    print(f"\n  {'file':<12}{'made':>6}{'killed':>8}{'survived':>10}")
    for file in sorted(made):
        print(f"  {file + '.py':<12}{made[file]:>6}{killed[file]:>8}{made[file] - killed[file]:>10}")


def print_mutants(title: str, mutants: set[Mutant]) -> None:
    if mutants:
        print(f"\n{title}")
    for each in sorted(mutants):
        print(f"  {each.place}\n    - {each.old}\n    + {each.new}")


def mutmut(*arguments: str) -> str:
    return subprocess.run([MUTMUT, *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    sys.exit(main())
