"""Runs the real command in a process of its own, as a person or a script would."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from corral.cli import main
from tests.live import LiveCorral

Corral = Callable[..., "Outcome"]


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_corral(*arguments: str, environ: dict[str, str], stdin: str = "") -> Outcome:
    done = subprocess.run(
        [str(Path(sys.executable).with_name("corral")), *arguments],
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def someone(tmp_path: Path) -> dict[str, str]:
    """The environment of a person who has nothing of Corral's set."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("CORRAL_", "XDG_"))}
    return {**kept, "HOME": str(tmp_path / "person"), "TZ": "UTC", "COLUMNS": "200"}


@pytest.fixture
def corral(someone: dict[str, str]) -> Corral:
    """`corral(...)` as that person; keyword arguments are further variables."""

    def call(*arguments: str, stdin: str = "", **variables: str) -> Outcome:
        return run_corral(*arguments, environ={**someone, **variables}, stdin=stdin)

    return call


@pytest.fixture
def admin(corral: Corral, live_corral: LiveCorral) -> Corral:
    """`corral(...)` as whoever started the running Corral: no sign-in, found through CORRAL_HOME."""

    def call(*arguments: str, stdin: str = "", **variables: str) -> Outcome:
        return corral(*arguments, stdin=stdin, **{"CORRAL_HOME": str(live_corral.home), **variables})

    return call


@pytest.fixture
def done(someone: dict[str, str], live_corral: LiveCorral) -> Callable[..., Any]:
    """Runs a command that has to work, as whoever started Corral, and returns its JSON.

    In this process, so that arranging a test does not cost as much as the test.
    """

    def call(*arguments: str) -> Any:
        outcome = run_here(*arguments, "--json", environ={**someone, "CORRAL_HOME": str(live_corral.home)})
        assert outcome.code == 0, outcome.err
        return outcome.json

    return call


def run_here(*arguments: str, environ: dict[str, str]) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    with (
        patch.dict(os.environ, environ, clear=True),
        patch.object(sys, "argv", ["corral", *arguments]),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main.run()
    return Outcome(int(ended.value.code or 0), out.getvalue(), err.getvalue())
