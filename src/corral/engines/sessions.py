"""A command inside a run, with its streams."""

from typing import NamedTuple, Protocol


class Terminal(NamedTuple):
    """The size of a terminal."""

    rows: int
    columns: int


class Session(Protocol):
    """With a terminal everything comes through `read`; without one, errors come through `read_error`."""

    async def read(self, limit: int = 65536) -> bytes:
        """What was written, as soon as there is something; nothing when no more will come."""

    async def read_error(self, limit: int = 65536) -> bytes:
        """The same of the error stream."""

    async def write(self, data: bytes) -> None:
        """Returns when the data has been taken. Raises BrokenPipeError when nobody reads any more."""

    async def close_input(self) -> None:
        """Nothing more will be written."""

    async def resize(self, terminal: Terminal) -> None:
        """The terminal has another size now."""

    async def wait(self) -> int:
        """The exit code, 128 + the signal for a command that a signal ended."""

    async def close(self) -> None:
        """Ends the command if it still runs, and closes the streams."""
