"""A Corral whose every text is hostile: no command passes any of it on to the terminal.

Names refuse such characters today. What an older database holds, what work wrote and what others typed as
commands, reasons and labels does not, so every text in every answer of a real Corral is made hostile here.
"""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from typing import Any

import pytest
from corral_sdk import sign_in
from corral_sdk._transport import Answer, Transport
from typer.main import get_command

from corral.cli import main
from tests.cli.people import new_person
from tests.cli.running import Corral, Done, run_program
from tests.cli.terminal import Terminal
from tests.cli.test_visible import ATTACKS, assert_harmless
from tests.live import LiveCorral

numbers = count(1)
HOSTILE = "".join(each for each in ATTACKS if "\ud800" not in each)
# What the client or the command decides by: ids, times, states and the like.
_STRUCTURE = {
    *(
        "id",
        "state",
        "kind",
        "type",
        "cursor",
        "next",
        "next_cursor",
        "resource",
        "metric",
        "encryption",
        "phase",
    ),
    *(
        "wanted",
        "result",
        "via",
        "why",
        "path",
        "labels",
        "permissions",
        "unit",
        "per",
        "by",
        "url",
        "version",
    ),
}


def _hostile(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: each if name in _STRUCTURE else _hostile(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [_hostile(each, key) for each in value]
    if (
        isinstance(value, str)
        and not key.endswith(("_id", "_at", "_ids", "_key"))
        and key not in {"at", "since", "until"}
    ):
        return value + HOSTILE
    return value


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """All answers from now on are hostile; their texts, to see that there were some."""
    seen: list[str] = []
    asked = Transport._exchange

    def answer(self: Transport, *given: Any) -> Answer:
        found = asked(self, *given)
        if "json" not in found.headers.get("content-type", "") or not found.body:
            return found
        body = json.dumps(_hostile(json.loads(found.body)))
        seen.append(body)
        return Answer(found.status, found.headers, body.encode())

    monkeypatch.setattr(Transport, "_exchange", answer)
    return seen


@pytest.fixture(scope="module")
def work(live_corral: LiveCorral) -> str:
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "CORRAL_HOME": str(live_corral.home)}
    command = ("run", "--no-upload", "--json", "--param", "lr=1", "--", "sh", "-c", "echo said; exit 3")
    made = run_program(*command, environ=environ)
    assert made.code == 0, made.err
    run_program("logs", "-f", made.json["id"], environ=environ)
    return str(made.json["id"])


def _questions() -> Iterator[tuple[str, ...]]:
    """Every command that shows something and takes no more than what it shows."""
    for name in main._COMMANDS:
        command: Any = get_command(import_module(f"corral.cli.{main._COMMANDS[name].module}").app)
        waiting = [((name,), command)]
        while waiting:
            path, each = waiting.pop()
            below = getattr(each, "commands", {})
            waiting += [((*path, word), one) for word, one in below.items()]
            if not below:
                needed = [one for one in each.params if one.required]
                arguments = [one for one in needed if one.param_type_name == "argument"]
                if not needed:
                    yield path
                elif len(needed) == len(arguments) == 1 and arguments[0].metavar == "WORK":
                    yield (*path, "WORK")


# These start, change or wait for something; those that change it say so with a name, as those that show do.
_NOT_ASKED = {("up",), ("login",), ("logout",), ("top", "--watch")}
QUESTIONS = sorted(
    each for each in _questions() if each not in _NOT_ASKED and each[0] not in {"db", "simulate"}
)


@pytest.mark.parametrize("as_json", [False, True], ids=["people", "programs"])
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
def test_no_answer_speaks_to_the_terminal(
    admin: Corral, hostile: list[str], work: str, question: tuple[str, ...], as_json: bool
) -> None:
    words = [work if word == "WORK" else word for word in question]
    if question[0] in {"rm", "stop", "suspend", "resume"}:
        words[-1] = "w" + "0" * 22  # what is refused is in the words of the API
    told = admin(*words, *(["--json"] if as_json else []))
    if question[0] == "logs" and not as_json:
        assert HOSTILE in told.out  # to a file or a pipe it goes as it is
        return
    assert_harmless(told.out + told.err, "\n\t")  # tabs stand between columns, and nowhere else
    assert_as_many_columns(told.out)
    assert "Traceback" not in told.err


def assert_as_many_columns(table: str) -> None:
    """Each run of lines with tabs has the same number of them: no value brings its own."""
    for block in re.split(r"^[^\t]*\n", table, flags=re.MULTILINE):
        assert len({line.count("\t") for line in block.splitlines() if line}) <= 1, block


CHANGES = [
    ("org", "create", "Hostile {n}"),
    ("token", "create", "hostile {n}"),
    ("flavor", "create", "hostile-{n}", "--cpu", "1", "--memory", "1Gi"),
    ("user", "create", "hostile{n}"),
    ("role", "create", "Hostile {n}", "--permission", "queues.read"),
    ("user", "invitation", "create"),
    ("user", "join-code", "create", "--seats", "2"),
    ("secret", "create", "hostile{n}"),
    ("run", "--no-upload", "--dry-run", "--", "true"),
    ("run", "--no-upload", "--cpu", "-1", "--", "true"),
    ("run", "--no-upload", "--memory", "9999Ti", "--detach", "--", "true"),
    ("user", "edit", "{me}", "--priority", "9"),
    ("settings", "mail", "test", "nobody"),
    ("org", "show", "nothing of that name"),
    ("audit", "show", "nothing"),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: " ".join(change[:3]))
def test_no_change_and_no_refusal_speaks_to_the_terminal(
    admin: Corral, done: Done, hostile: list[str], change: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as plain_answers:
        plain_answers.undo()
        me = done("whoami")["user"]["id"] if "{me}" in change else ""
    words = [word.format(n=next(numbers), me=me) for word in change]
    told = admin(*words, stdin="x")
    assert hostile
    assert told.out + told.err
    assert_harmless(told.out + told.err, "\n")
    if words[:2] == ["secret", "create"]:
        monkeypatch.undo()
        done("secret", "delete", words[2])  # others look at all secrets of this person


@pytest.fixture
def starter(someone: dict[str, str], live_corral: LiveCorral) -> dict[str, str]:
    return {**someone, "CORRAL_HOME": str(live_corral.home), "COLUMNS": "80"}


SPEAKS = r"printf '\033]52;c;QQ==\007\033[31mred\033[0m 1\r2\033[6n\302\2336n\033Pq\033\\ end\n'"


def test_own_work_has_colours_on_a_terminal_and_nothing_else(starter: dict[str, str]) -> None:
    with Terminal(
        "run", "--no-upload", "--name", "speaks", "--", "sh", "-c", SPEAKS, environ=starter
    ) as terminal:
        terminal.wait_for("end")
        assert terminal.ended() == 0
    assert "\x1b[31mred\x1b[0m 1\r2\\x1b[6n\\x9b6n\\x1bPq\\x1b\\" in terminal.shown
    assert "\\x1b]52;c;QQ==\\x07" in terminal.shown
    assert not re.search(r"\x1b[\]P]|\x9b", terminal.shown)


def test_output_of_others_has_not_even_colours_unless_raw(
    starter: dict[str, str], done: Done, admin: Corral, live_corral: LiveCorral
) -> None:
    made = admin("run", "--no-upload", "--json", "--", "sh", "-c", SPEAKS).json
    assert admin("logs", "-f", made["id"]).out.startswith("\x1b]52;c;QQ==\x07\x1b[31mred")
    person, password = f"reader{next(numbers)}", "a long enough passphrase"
    new_person(done, live_corral, person, password)
    done("user", "grant", person, "super_administrator")
    with sign_in(live_corral.url, person, password) as session:
        other = session.tokens.create("reader").secret
    reader = {**starter, "CORRAL_URL": live_corral.url, "CORRAL_TOKEN": other}
    reader.pop("CORRAL_HOME")
    with Terminal("logs", made["id"], environ=reader) as terminal:
        assert terminal.ended() == 0
    assert terminal.shown.startswith("\\x1b]52;c;QQ==\\x07\\x1b[31mred\\x1b[0m 1\\x0d2")
    assert "\x1b" not in terminal.shown
    with Terminal("logs", "--raw", made["id"], environ=reader) as terminal:
        assert terminal.ended() == 0
    assert terminal.shown.startswith("\x1b]52;c;QQ==\x07\x1b[31mred")
