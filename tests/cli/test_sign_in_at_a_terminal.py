"""`corral login` as a person types it: hidden passwords, second chances, and Ctrl-C that leaves nothing."""

import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from tests.cli.people import new_person, open_sessions
from tests.cli.running import Corral, Done
from tests.cli.terminal import CTRL_C, Terminal
from tests.live import LiveCorral

PASSWORD = "seven quiet horses"
NEW_PASSWORD = "nine slow rivers"
numbers = count(1)


@dataclass(frozen=True)
class Person:
    id: str
    name: str


@pytest.fixture
def person(done: Done, live_corral: LiveCorral) -> Person:
    """Someone with a password of their own, not signed in."""
    name = f"typist{next(numbers)}"
    return Person(new_person(done, live_corral, name, PASSWORD), name)


@pytest.fixture
def helped(done: Done, person: Person) -> Person:
    """The same after an administrator helped: they have to choose a new password."""
    done("user", "login-link", person.name)
    return person


def saved(someone: dict[str, str]) -> Path:
    return Path(someone["HOME"]) / ".config" / "corral" / "credentials.json"


def test_a_password_is_not_shown_and_a_wrong_one_can_be_typed_again(
    someone: dict[str, str], corral: Corral, live_corral: LiveCorral, person: Person
) -> None:
    with Terminal("login", "--url", live_corral.url, environ=someone) as terminal:
        terminal.wait_for("Name: ")
        terminal.type(f"{person.name}\n")
        terminal.wait_for("Password: ")
        assert not terminal.echoes
        terminal.type("a wrong one\n")
        refused = terminal.wait_for("Password: ")
        assert "Signing in failed" in refused
        assert re.search(r"Tries left: \d+\.", refused)
        terminal.type(f"{PASSWORD}\n")
        assert terminal.ended() == 0
        assert terminal.echoes

    assert f"Signed in to {live_corral.url} as {person.name}" in terminal.shown
    assert PASSWORD not in terminal.shown
    assert "a wrong one" not in terminal.shown
    assert saved(someone).stat().st_mode & 0o777 == 0o600
    assert saved(someone).parent.stat().st_mode & 0o777 == 0o700
    assert corral("whoami", "--json").json["user"]["name"] == person.name
    assert open_sessions(live_corral, person.id) == 0


def test_after_three_wrong_passwords_it_gives_up(
    someone: dict[str, str], live_corral: LiveCorral, person: Person
) -> None:
    with Terminal("login", "--url", live_corral.url, "--name", person.name, environ=someone) as terminal:
        for _ in range(3):
            terminal.wait_for("Password: ")
            terminal.type("a wrong one\n")
        assert terminal.ended() == 1
    first, second, third = (int(left) for left in re.findall(r"Tries left: (\d+)\.", terminal.shown))
    assert first > second > third
    assert not saved(someone).exists()


def test_ctrl_c_at_the_prompt_leaves_nothing_behind(
    someone: dict[str, str], live_corral: LiveCorral, person: Person
) -> None:
    with Terminal("login", "--url", live_corral.url, "--name", person.name, environ=someone) as terminal:
        terminal.wait_for("Password: ")
        terminal.type(CTRL_C)
        assert terminal.ended() == 1
        assert terminal.echoes
    assert terminal.shown.rstrip().endswith("Nothing was changed.")
    assert "Traceback" not in terminal.shown
    assert not saved(someone).exists()
    assert open_sessions(live_corral, person.id) == 0


def test_a_new_password_is_chosen_before_anything_else_and_weak_ones_are_refused(
    someone: dict[str, str], corral: Corral, live_corral: LiveCorral, helped: Person
) -> None:
    with Terminal("login", "--url", live_corral.url, "--name", helped.name, environ=someone) as terminal:
        terminal.wait_for("Password: ")
        terminal.type(f"{PASSWORD}\n")
        terminal.wait_for("choose a new password")
        for password in ("short", NEW_PASSWORD):
            for prompt in ("New password: ", "New password again: "):
                terminal.wait_for(prompt)
                assert not terminal.echoes
                terminal.type(f"{password}\n")
        assert terminal.ended() == 0
    assert "The password is too short." in terminal.shown
    assert PASSWORD not in terminal.shown
    assert NEW_PASSWORD not in terminal.shown
    assert corral("whoami", "--json").json["user"]["id"] == helped.id
    assert open_sessions(live_corral, helped.id) == 0


def test_ctrl_c_instead_of_a_new_password_ends_the_session_that_was_begun(
    someone: dict[str, str], live_corral: LiveCorral, helped: Person
) -> None:
    with Terminal("login", "--url", live_corral.url, "--name", helped.name, environ=someone) as terminal:
        terminal.wait_for("Password: ")
        terminal.type(f"{PASSWORD}\n")
        terminal.wait_for("New password: ")
        terminal.type(CTRL_C)
        assert terminal.ended() == 1
        assert terminal.echoes
    assert not saved(someone).exists()
    assert open_sessions(live_corral, helped.id) == 0
