"""How commands answer: tables for people, JSON for programs. Rich is imported by the first table.

What is printed comes from others: all of it goes through `corral.cli.visible`.
"""

import io
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, BinaryIO, cast

from corral.cli.visible import OutputFilter, TerminalBytes, json_text, plain

__all__ = [
    "WorkOutput",
    "bytes_output",
    "clear_screen",
    "note",
    "print_exactly",
    "print_facts",
    "print_json",
    "print_table",
    "print_tree",
    "say",
    "warn",
]

_STATES = {
    "ok": "green",
    "active": "green",
    "allowed": "green",
    "warn": "yellow",
    "pending": "yellow",
    "missing": "red",
    "disabled": "red",
    "refused": "red",
    "failed": "red",
    "error": "red",
}


def print_json(value: object, *, indent: int | None = 2) -> None:
    sys.stdout.write(json_text(value, indent=indent) + "\n")


def say(text: str, *, lines: bool = False) -> None:
    """A line for people, on stdout; several with `lines`."""
    sys.stdout.write(plain(text, lines=lines) + "\n")


def warn(text: str) -> None:
    """A line for people beside what a program reads, on stderr."""
    sys.stdout.flush()
    sys.stderr.write(plain(text) + "\n")
    sys.stderr.flush()


class WorkOutput:
    """What one replica wrote: harmless on a terminal, unchanged in a file or a pipe, or with `raw`."""

    def __init__(self, *, own: bool, raw: bool = False) -> None:
        self._filter = None if raw or not sys.stdout.isatty() else OutputFilter(own=own)

    def pass_on(self, text: str) -> str:
        return self._filter.pass_on(text) if self._filter else text

    def end(self) -> str:
        return self._filter.end() if self._filter else ""

    def write(self, text: str) -> None:
        print_exactly(self.pass_on(text))

    def close(self) -> None:
        print_exactly(self.end())


def print_exactly(text: str) -> None:
    """Only for what a `WorkOutput` has passed on."""
    sys.stdout.write(text)
    sys.stdout.flush()


def bytes_output() -> BinaryIO:
    """Where a command writes a file that was asked for on stdout."""
    return cast("BinaryIO", TerminalBytes(sys.stdout)) if sys.stdout.isatty() else sys.stdout.buffer


def clear_screen() -> None:
    """Only on a terminal, and only we do it."""
    if sys.stdout.isatty():
        sys.stdout.write("\033[H\033[2J")


def note(text: str) -> None:
    """A line for people beside a table: on a terminal below it, else on stderr, out of a program's way."""
    (say if sys.stdout.isatty() else warn)(text)


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, whole: Collection[str] = ()
) -> None:
    """A table, as wide as the terminal, in which the columns in `whole` stay in one line. To a pipe or a file
    go the same columns between tabs, each row whole on its line. Without rows, people get `empty`, which
    should teach the next step."""
    listed = list(rows)
    if not listed:
        note(empty)
    if not sys.stdout.isatty():
        for row in [columns, *listed] if listed else []:
            sys.stdout.write("\t".join(plain(_cell_text(value)) for value in row) + "\n")
    elif listed:
        _show_table(columns, listed, whole)


def _show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], whole: Collection[str]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(plain(column), overflow="fold", no_wrap=column in whole)
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    _show(table)


def print_facts(facts: Mapping[str, object]) -> None:
    """One object: a name and a value per line; what is not known is left out."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        if value not in (None, "", [], ()):
            table.add_row(plain(name), _cell(value, lines=True))
    _show(table)


def print_tree(roots: Sequence[Mapping[str, Any]], label: str = "label", below: str = "children") -> None:
    """Nested objects, each with a label and those below it."""
    from rich.text import Text
    from rich.tree import Tree

    def grow(branch: Tree, items: Sequence[Mapping[str, Any]]) -> None:
        for item in items:
            grow(branch.add(Text(plain(str(item[label])))), item[below])

    for root in roots:
        tree = Tree(Text(plain(str(root[label]))), guide_style="dim")
        grow(tree, root[below])
        _show(tree)


def _cell_text(value: object) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(str(each) for each in value)
    return "" if value is None else str(value)


def _cell(value: object, *, lines: bool = False) -> Any:
    from rich.text import Text

    # Text, not markup: a name such as "[red]" is shown as it is.
    return Text(plain(_cell_text(value), lines=lines), style=_STATES.get(str(value), ""))


def _show(renderable: object) -> None:
    from rich.console import Console

    if sys.stdout.isatty():
        Console(highlight=False).print(renderable)
        return
    # A pipe has no width: folding at 80 columns would break what the next program looks for.
    page = io.StringIO()
    Console(width=1000, highlight=False, file=page).print(renderable)
    for line in page.getvalue().splitlines():
        say(line.rstrip())
