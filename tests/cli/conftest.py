"""Runs the real command in a process of its own, as a person or a script would."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
