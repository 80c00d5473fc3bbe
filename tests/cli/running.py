"""Runs the command: in a process of its own, or in this one as if it were another."""

import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from corral.cli import main

PROGRAM = Path(sys.executable).with_name("corral")

Corral = Callable[..., "Outcome"]
Done = Callable[..., Any]


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run_program(*arguments: str, environ: dict[str, str], stdin: str = "") -> Outcome:
    done = subprocess.run(
        [str(PROGRAM), *arguments],
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def run_here(*arguments: str, environ: dict[str, str], stdin: str = "") -> Outcome:
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        _environment(environ),
        patch.object(sys, "argv", ["corral", *arguments]),
        # What the name in usage messages is made of.
        patch.object(sys.modules["__main__"], "__package__", None, create=True),
        # A start that was to be refused must not replace the process of the tests.
        patch.object(os, "execv", side_effect=AssertionError("corral up would have started")),
        patch.object(sys, "stdin", io.StringIO(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
        pytest.raises(SystemExit) as ended,
    ):
        main.run()
    out.seek(0)
    err.seek(0)
    return Outcome(int(ended.value.code or 0), out.read(), err.read())


@contextmanager
def _environment(environ: dict[str, str]) -> Iterator[None]:
    """Variables, time zone and file mask of another process."""
    mask = os.umask(0o022)
    try:
        with patch.dict(os.environ, environ, clear=True):
            time.tzset()
            yield
    finally:
        time.tzset()
        os.umask(mask)
