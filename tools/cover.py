"""Which tests run on PostgreSQL too: all that can differ there, and enough others for every statement.

    tools/cover.py choose   writes tests/covered.txt from what the stage api wrote down of SQLite
    tools/cover.py check    compares what it wrote down of both databases

A test may stay away from PostgreSQL only if it stands in tests/covered.txt: one that is new, or renamed,
runs on both. There it stands if two others execute each of its statements, and each that a constraint
refuses, on PostgreSQL. A statement that is executed on SQLite alone fails the check. Standard library only.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from stages import ROOT, SHAPES

COVERED = ROOT / "tests" / "covered.txt"
HEADER = """\
# These tests do not run on PostgreSQL in `make test`: others execute each of their statements there.
# Written by `make cover`; a test that is not here runs on both databases.
"""
TIMES = 2  # a loop's turn may miss one of them
# Here the database itself is the subject: its transactions, types, order, limits and messages.
ALWAYS = (
    "tests/harness/",
    "tests/store/",
    "tests/events/",
    "tests/api/test_once.py",
    "tests/api/test_pages.py",
    "tests/audit/",
    "tests/store/test_leadership.py",
    "tests/security/test_growth.py",
    "tests/security/test_hidden_characters.py",
    "tests/security/test_huge_inputs.py",
    "tests/security/test_lockout.py",
    "tests/security/test_names.py",
    "tests/security/test_unstorable.py",
    "tests/usage/test_ledger_properties.py",
    "tests/usage/test_samples.py",
    "tests/zones/test_journal.py",
)
AT_ONCE = re.compile(r"\b(gather|TaskGroup|create_task|to_thread|Thread|ThreadPoolExecutor|given)\(")
# Written for SQLite; PostgreSQL has a statement of its own for the same, with tests of its own.
ONLY_SQLITE = re.compile(r"^(refused: )?(PRAGMA|BEGIN|VACUUM|ATTACH|DETACH|CREATE|.*\bsqlite_)")
_KIND = re.compile(r"(?<=[\[-])(?:sqlite|postgresql)(?=[\]-])")

Shapes = Mapping[str, frozenset[str]]


def without_kind(test: str) -> str:
    """The same name on both databases."""
    return _KIND.sub("database", test)


def read(file: Path, database: str) -> dict[str, frozenset[str]]:
    """The shapes of the statements of each test on this database."""
    return {without_kind(one["test"]): frozenset(one["shapes"]) for one in _lines(file, database)}


def read_cost(file: Path, database: str) -> dict[str, float]:
    """The CPU seconds of each test, and a little for being there."""
    return {without_kind(one["test"]): one["cpu_seconds"] + 0.02 for one in _lines(file, database)}


def _lines(file: Path, database: str) -> list[dict[str, Any]]:
    lines = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [one for one in lines if database in one["databases"]]


def runs_always(test: str, root: Path = ROOT) -> bool:
    """Is the database its subject, or does it do several things at once."""
    if test.startswith(ALWAYS):
        return True
    file, _, name = test.partition("::")
    function = name.partition("[")[0].rpartition("::")[2]
    # Not found: it is not for us to leave it out.
    return _at_once(root / file).get(function, True)


@cache
def _at_once(file: Path) -> dict[str, bool]:
    """Of each test of the file, whether it does several things at once."""
    source = file.read_text(encoding="utf-8")
    found: dict[str, bool] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = "\n".join(ast.unparse(one) for one in node.decorator_list)
            text = decorators + (ast.get_source_segment(source, node) or "")
            found.setdefault(node.name, AT_ONCE.search(text) is not None)
    return found


def covered(
    shapes: Shapes, always: Iterable[str], cost: Mapping[str, float] | None = None, times: int = TIMES
) -> list[str]:
    """The tests that need not run, because those that do execute each of their shapes `times` times.

    Of two that would do, the cheaper one runs.
    """
    price = cost or {}
    total = Counter(shape for one in shapes.values() for shape in one)
    missing = {shape: min(times, count) for shape, count in total.items()}
    chosen: set[str] = set()

    def choose(test: str) -> None:
        chosen.add(test)
        for shape in shapes[test]:
            missing[shape] -= 1

    for test in always:
        choose(test)
    left = sorted(set(shapes) - chosen)
    while any(count > 0 for count in missing.values()):
        best = max(left, key=lambda test: _gain(shapes[test], missing) / price.get(test, 1.0))
        left.remove(best)
        choose(best)
    return left


def _gain(shapes: Iterable[str], missing: Mapping[str, int]) -> int:
    return sum(missing[shape] > 0 for shape in shapes)


def uncovered(on_sqlite: Shapes, on_postgresql: Shapes) -> dict[str, str]:
    """Each shape that PostgreSQL missed because the tests that execute it were left out, and one of them.

    Where a test ran on both, nothing was left out: a random test takes other turns, or the dialect differs.
    """
    seen = frozenset[str]().union(*on_postgresql.values())
    tried = frozenset[str]().union(*(on_sqlite[test] for test in on_sqlite.keys() & on_postgresql.keys()))
    return {
        shape: test
        for test, shapes in sorted(on_sqlite.items(), reverse=True)
        for shape in shapes - seen - tried
        if not ONLY_SQLITE.match(shape)
    }


def choose() -> int:
    shapes = read(SHAPES, "sqlite")
    always = [test for test in sorted(shapes) if runs_always(test)]
    left = covered(shapes, always, read_cost(SHAPES, "sqlite"))
    COVERED.write_text(HEADER + "".join(f"{test}\n" for test in left), encoding="utf-8")
    print(f"{len(shapes) - len(left)} of {len(shapes)} tests run on both databases; {len(left)} are covered.")
    return 0


def check() -> int:
    only_sqlite = uncovered(read(SHAPES, "sqlite"), read(SHAPES, "postgresql"))
    if not only_sqlite:
        print("Every statement of the tests on SQLite was executed on PostgreSQL, too.")
        return 0
    print("These were not executed on PostgreSQL. `make cover` chooses the tests for it anew.")
    for shape, test in sorted(only_sqlite.items(), key=lambda one: one[1]):
        print(f"\n  {test}\n    {shape}")
    return 1


if __name__ == "__main__":
    commands = {"choose": choose, "check": check}
    if len(sys.argv) != 2 or sys.argv[1] not in commands:
        sys.exit(f"usage: tools/cover.py {'|'.join(commands)}")
    sys.exit(commands[sys.argv[1]]())
