"""How commands answer: tables for people, JSON for programs. Rich is imported by the first table."""

import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = ["print_facts", "print_json", "print_table", "print_tree", "say", "warn"]

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


def print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def say(text: str) -> None:
    """A line for people, on stdout."""
    sys.stdout.write(text + "\n")


def warn(text: str) -> None:
    """A line for people beside what a program reads, on stderr."""
    sys.stderr.write(text + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    """A table; `empty` is what is said instead when there are no rows, and should teach the next step."""
    from rich.table import Table

    listed = list(rows)
    if not listed:
        say(empty)
        return
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in listed:
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
            table.add_row(name, _cell(value))
    _show(table)


def print_tree(roots: Sequence[Mapping[str, Any]], label: str = "label", below: str = "children") -> None:
    """Nested objects, each with a label and those below it."""
    from rich.text import Text
    from rich.tree import Tree

    def grow(branch: Tree, items: Sequence[Mapping[str, Any]]) -> None:
        for item in items:
            grow(branch.add(Text(str(item[label]))), item[below])

    for root in roots:
        tree = Tree(Text(str(root[label])), guide_style="dim")
        grow(tree, root[below])
        _show(tree)


def _cell(value: object) -> Any:
    from rich.text import Text

    if value is None:
        return Text("")
    if isinstance(value, list | tuple):
        return Text(", ".join(str(each) for each in value))
    # Text, not markup: a name such as "[red]" is shown as it is.
    return Text(str(value), style=_STATES.get(str(value), ""))


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
