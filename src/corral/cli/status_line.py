"""One line about what is happening, beside the output: in place on a terminal, else whenever it changes."""

import shutil
import sys
from typing import TextIO

from corral.cli.visible import plain

__all__ = ["StatusLine"]


class StatusLine:
    """Writes to stderr, so that what is piped on is the work's output alone."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self.on_terminal = self._stream.isatty()
        self._shown = ""
        self._last = ""
        self.in_a_line = False  # of the output, which must not be written over

    def show(self, text: str) -> None:
        """Replaces the status line."""
        text = plain(text)
        if text == self._last or (self.on_terminal and self.in_a_line):
            return
        self._last = text
        if not self.on_terminal:
            self._stream.write(text + "\n")
        else:
            width = shutil.get_terminal_size().columns
            fitting = text if len(text) < width else text[: width - 2] + "…"
            self._stream.write(f"\r\033[K\033[2m{fitting}\033[0m")
            self._shown = fitting
        self._stream.flush()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.clear()
        if self.on_terminal and self.in_a_line:
            self._stream.write("\n")
            self.in_a_line = False
        self._stream.write(plain(text) + "\n")
        self._stream.flush()

    def ask(self, text: str) -> str:
        """The line that is typed after it."""
        self._stream.write(f"\n{plain(text)} ")
        self._stream.flush()
        return sys.stdin.readline()

    def clear(self) -> None:
        """Makes room for output."""
        if self._shown:
            self._stream.write("\r\033[K")
            self._stream.flush()
            self._shown = ""
        self._last = ""
