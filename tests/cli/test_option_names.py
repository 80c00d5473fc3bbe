"""Refusals in the words of the command: its options, no field, pattern or class of the API."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from corral.cli import main
from tests.cli.running import Corral

_FOREIGN = re.compile(
    r"\b(?:body|query|path)\.|_milli|_mib|pattern|\^\[|str-enum|literal\[|Traceback|See the API"
)
# They start or change the machine, and read its settings, which have names of their own.
_ELSEWHERE = {"up", "db", "doctor", "config", "login", "logout", "simulate", "plan", "completion", "version"}
_BAD = ("-1", "no such thing!")


def _options() -> Iterator[Any]:
    """Every option that takes a value, and every argument, with what the rest of its command needs."""
    for name, entry in main._COMMANDS.items():
        command: Any = get_command(import_module(f"corral.cli.{entry.module}").app)
        waiting = [((name,), command)]
        while waiting and name not in _ELSEWHERE:
            path, each = waiting.pop()
            below = getattr(each, "commands", {})
            waiting += [((*path, word), one) for word, one in below.items()]
            for option in () if below else each.params:
                if not getattr(option, "is_flag", False) and option.name != "help":
                    yield pytest.param(path, option, each, id=f"{' '.join(path)} {option.name}")


@pytest.mark.parametrize("value", _BAD)
@pytest.mark.parametrize(("path", "option", "command"), [*_options()])
def test_bad_value_is_refused_in_the_words_of_the_command(
    admin: Corral,
    path: tuple[str, ...],
    option: Any,
    command: Any,
    value: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # some values are names of files that are written
    words, last = [*path], []
    for each in command.params:
        if each is option and each.param_type_name == "option":
            words += [f"{max(each.opts, key=len)}={value}"]
        elif each.required and each.param_type_name == "option":
            words += [max(each.opts, key=len), "1Gi" if each.name == "memory" else "1"]
        elif each.param_type_name == "argument" and (each.required or each is option):
            last.append(value if each is option else "something")
    if path == ("run",):
        words += ["--no-upload", "--detach", "--memory", "64Mi"] if option.name != "memory" else ["--detach"]
    refused = admin(*words, "--", *last, stdin="x")
    assert not _FOREIGN.search(refused.err), refused.err
    lines = [line.strip() for line in refused.err.splitlines() if line.strip()]
    assert len(lines) == len(set(lines)), refused.err  # nothing is said twice


def test_wrong_numbers_name_their_option(admin: Corral) -> None:
    for option, value in (
        ("--replicas", "0"),
        ("--retries", "-1"),
        ("--priority", "9"),
        ("--time-limit", "x"),
    ):
        refused = admin("run", "--no-upload", option, value, "--", "true")
        assert refused.code == 1
        assert refused.err.startswith(f"{option}: "), refused.err
    assert admin("ps", "--state", "x").err.count("suspended") == 1
    scope = admin("token", "create", "x", "--scope", "y").err
    assert scope.startswith("--scope: ")
    assert scope.count("queues.read") == 1


def test_script_that_is_not_there_is_refused_before_anything_is_sent(
    admin: Corral, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = admin("run", "nosuch.py", CORRAL_HOME="/nonexistent")
    assert refused.code == 1
    assert "There is no file 'nosuch.py'" in refused.err
