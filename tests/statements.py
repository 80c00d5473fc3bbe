"""Which statements a test has its databases execute."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event


@contextmanager
def statements(*tables: str) -> Iterator[list[str]]:
    """Those that name one of the tables: loops go on meanwhile, and ask about others."""
    seen: list[str] = []
    named = re.compile(rf"\b({'|'.join(tables)})\b")

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if named.search(statement):
            seen.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(Engine, "before_cursor_execute", note)
