"""Every `corral …` that a document shows exists, with the options it names."""

import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.exceptions import TyperException

from corral.cli.main import app
from tests.docs.test_documents import code_of, every_document


def trouble_with(line: str) -> str | None:
    """What is wrong with a command line, or None."""
    words = list(takewhile(lambda word: word != "|", shlex.split(line, comments=True)[1:]))
    command: Any = typer.main.get_command(app)
    while hasattr(command, "resolve_command") and words and words[0][0] not in "-<[…":
        context = typer.Context(command)
        try:
            _, command, words = command.resolve_command(context, words)
        except TyperException as error:
            return f"{line}: {error}"
    # What follows `--`, or the command that `corral run` is given, belongs to somebody else.
    context = typer.Context(command, **command.context_settings)
    given = [word for word in words if word != "--help"]
    try:
        # Prose names an option without its value: the last word stands for one.
        command.make_parser(context).parse_args([*given, "value"])
    except TyperException as error:
        return f"{line}: {error}"
    return None


@every_document
def test_commands_that_are_shown_exist(document: Path) -> None:
    lines = [line.removeprefix("$ ") for line in code_of(document)]
    shown = sorted({line for line in lines if line.startswith("corral ")})
    assert [trouble for line in shown if (trouble := trouble_with(line))] == []


@pytest.mark.parametrize(
    "line",
    ["corral nonsense", "corral org nonsense", "corral up --nonsense", "corral ps --nonsense | cut -f1"],
)
def test_commands_that_do_not_exist_are_noticed(line: str) -> None:
    assert trouble_with(line)
