"""Which statements of Corral's own each test has its databases execute, written down for tools/cover.py.

A statement counts by its shape: values, lists of any length and what only the driver writes are left out, so
that a shape is the same on both databases. One that a constraint refused counts once more, as refused.
"""

import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import ClauseElement, Engine, event
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import CompileError, IntegrityError

_SOURCE = str(Path(__file__).parents[1] / "src" / "corral")
_STORE = f"{_SOURCE}/store/database.py"
# Each database has its own statements here; the tests of these modules always run on both (tools/cover.py).
_DIFFERENT = {
    f"{_SOURCE}/{file}"
    for file in ("audit/search.py", "store/leadership.py", "events/record.py", "usage/samples/store.py")
}
_DIALECT = sqlite.dialect()
_SPACE = re.compile(r"\s+")
_VALUE = re.compile(r"%\(\w+\)s|\(\[POSTCOMPILE_\w+\]\)|\(__\[POSTCOMPILE_\w+\]\)|:\w+|\$\d+|\?")
_LIST = re.compile(r"\(\?(?:, \?)*\)(?:, \(\?(?:, \?)*\))*")


def shape(statement: str) -> str:
    """The statement without its values."""
    return _LIST.sub("(?)", _VALUE.sub("?", _SPACE.sub(" ", statement))).strip()


class Shapes:
    """The plugin: listens to every engine, and adds one line per test to the file."""

    def __init__(self, file: Path, *, anew: bool) -> None:
        """Anew in the run's first process, which is there before the others."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file.open("w" if anew else "a", encoding="utf-8")
        self._known: dict[str, str] = {}
        self._seen: set[str] = set()
        self._refused: set[str] = set()
        event.listen(Engine, "before_cursor_execute", self._note)
        event.listen(Engine, "handle_error", self._note_refusal)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._seen, self._refused = set(), set()
        begun = time.process_time()
        result = yield
        # What runs meanwhile in other threads may add to them.
        shapes = {self._known[one] for one in list(self._seen)} | {
            f"refused: {self._known[one]}" for one in list(self._refused)
        }
        cost = round(time.process_time() - begun, 3)
        on = [one for one in ("sqlite", "postgresql") if item.get_closest_marker(one)]
        line = {"test": item.nodeid, "databases": on, "cpu_seconds": cost, "shapes": sorted(shapes)}
        os.write(self._file.fileno(), f"{json.dumps(line)}\n".encode())  # at once: several processes write
        return result

    def pytest_unconfigure(self) -> None:
        event.remove(Engine, "before_cursor_execute", self._note)
        event.remove(Engine, "handle_error", self._note_refusal)
        self._file.close()

    def _note(
        self, _connection: Any, _cursor: Any, statement: str, _parameters: Any, context: Any, _many: bool
    ) -> None:
        if statement not in self._seen and _asked_by_corral():
            if statement not in self._known:
                clause = getattr(getattr(context, "compiled", None), "statement", None)
                self._known[statement] = shape(statement if clause is None else _in_one_dialect(clause))
            self._seen.add(statement)

    def _note_refusal(self, context: Any) -> None:
        if isinstance(context.sqlalchemy_exception, IntegrityError) and context.statement in self._known:
            self._refused.add(context.statement)


def _in_one_dialect(clause: ClauseElement) -> str:
    try:
        return str(clause.compile(dialect=_DIALECT))
    except CompileError:  # what only PostgreSQL has
        return str(clause)


def _asked_by_corral() -> bool:
    """And not by the test itself, which may ask what it likes, nor by what differs on purpose."""
    frame, asked = sys._getframe(2), None
    while frame is not None:
        file = frame.f_code.co_filename
        if file in _DIFFERENT:
            return False
        if asked is None and "sqlalchemy" not in file and not file.startswith("<") and file != _STORE:
            asked = file.startswith(_SOURCE)
            if not asked:
                return False
        frame = frame.f_back  # type: ignore[assignment]
    return bool(asked)
