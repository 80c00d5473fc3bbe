"""A real terminal for the command: a pseudo-terminal that a test reads and types into."""

import os
import pty
import select
import subprocess
import termios
import time
from types import TracebackType
from typing import Self

from tests.cli.running import PROGRAM

CTRL_C = "\x03"
SECONDS = 60.0


class Terminal:
    """One command in the foreground of its own terminal."""

    def __init__(self, *arguments: str, environ: dict[str, str]) -> None:
        self._screen, self._keyboard = pty.openpty()
        self.shown = ""
        self._seen = 0
        # A session of its own, with this terminal in control of it: Ctrl-C reaches the command.
        # `env` gives it the signals of a terminal, also where the tests run in the background.
        signals = ["env", "--default-signal=INT,QUIT"]
        command = ["setsid", "--ctty", *signals, str(PROGRAM), *arguments]
        self._process = subprocess.Popen(
            command, env=environ, stdin=self._keyboard, stdout=self._keyboard, stderr=self._keyboard
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._screen)
        os.close(self._keyboard)

    def wait_for(self, text: str) -> str:
        """Reads until the text appears after what was waited for before; returns what came with it."""
        deadline = time.monotonic() + SECONDS
        while text not in self.shown[self._seen :]:
            self._read(deadline - time.monotonic(), f"no {text!r}")
        end = self.shown.index(text, self._seen) + len(text)
        passed, self._seen = self.shown[self._seen : end], end
        return passed

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def ended(self) -> int:
        """The exit code; reads on meanwhile, because a full terminal would hold the command up."""
        deadline = time.monotonic() + SECONDS
        while self._process.poll() is None:
            self._read(min(0.05, deadline - time.monotonic()), "still running", patient=True)
        self._read(0.0, "", patient=True)
        return self._process.returncode

    @property
    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._keyboard)[3] & termios.ECHO)

    def _read(self, seconds: float, missed: str, *, patient: bool = False) -> None:
        ready, _, _ = select.select([self._screen], [], [], max(seconds, 0.0))
        if ready:
            self.shown += os.read(self._screen, 65536).decode()
        elif not patient or seconds < 0:
            raise AssertionError(f"{missed} on the terminal after {SECONDS} s:\n{self.shown}")
