"""The command as different people call it.

In this process, or, where that matters (its start, its terminal, `corral up`), with `program` in one of its
own, which costs half a second, most of it imports. The tests of a worker share one running Corral and make
their own organisations and people in it.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Corral, Done, Outcome, run_here, run_program
from tests.live import LiveCorral, running_corral


@pytest.fixture(scope="session")
def live_corral(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCorral]:
    """One `corral up` for all tests of this worker: leave it running, and its first password unchanged."""
    with running_corral(tmp_path_factory.mktemp("corral"), warm=False) as corral:
        yield corral


@pytest.fixture
def someone(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has nothing of Corral's set."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CORRAL_", "XDG_"))}
    return {**kept, "HOME": str(tmp_path / "person"), "TZ": "UTC", "COLUMNS": "200"}


@pytest.fixture
def corral(someone: dict[str, str]) -> Corral:
    """`corral(...)` as that person; keyword arguments are further variables."""

    def call(*arguments: str, stdin: str = "", **variables: str) -> Outcome:
        return run_here(*arguments, environ={**someone, **variables}, stdin=stdin)

    return call


@pytest.fixture
def program(someone: dict[str, str]) -> Corral:
    """The same in a process of its own."""

    def call(*arguments: str, stdin: str = "", **variables: str) -> Outcome:
        return run_program(*arguments, environ={**someone, **variables}, stdin=stdin)

    return call


@pytest.fixture
def admin(corral: Corral, live_corral: LiveCorral) -> Corral:
    """`corral(...)` as whoever started the running Corral: no sign-in, found through CORRAL_HOME."""

    def call(*arguments: str, stdin: str = "", **variables: str) -> Outcome:
        return corral(*arguments, stdin=stdin, **{"CORRAL_HOME": str(live_corral.home), **variables})

    return call


@pytest.fixture
def done(admin: Corral) -> Done:
    """Runs a command that has to work, as whoever started Corral, and returns its JSON."""

    def call(*arguments: str) -> Any:
        outcome = admin(*arguments, "--json")
        assert outcome.code == 0, outcome.err
        return outcome.json

    return call
