"""A connection to a supervisor: what it tells, and commands with their answers."""

import array
import asyncio
import itertools
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

from corral.core.refusals import Conflict, Unavailable

ANSWER_SECONDS = 20
COMMAND_SECONDS = 5  # to be told to go takes no time: who does not answer is stopped
_MOST_DESCRIPTORS = 8
_INT_BYTES = array.array("i").itemsize

State = list[dict[str, object]]


class Link:
    """`on_state` is called with the state of every replica; `on_end` when the supervisor hangs up."""

    def __init__(self, path: Path, on_state: Callable[[State], None], on_end: Callable[[], None]) -> None:
        self._on_state = on_state
        self._on_end = on_end
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[tuple[dict[str, object], list[int]]]] = {}
        self._buffer = bytearray()
        self._descriptors: list[int] = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Never waits: where a supervisor that is stopped accepts nobody, the line is full some day.
        self._socket.setblocking(False)
        try:
            self._socket.connect(str(path))
        except OSError:
            self._socket.close()
            raise
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._read)
        self.open = True

    async def command(
        self, do: str, arguments: Mapping[str, object], within_seconds: float = ANSWER_SECONDS
    ) -> tuple[dict[str, object], list[int]]:
        """The answer and the descriptors that came with it, which the caller closes."""
        if not self.open:
            raise _unavailable()
        number = next(self._numbers)
        answer = self._answers[number] = self._loop.create_future()
        line = json.dumps({"version": 1, "id": number, "do": do, **arguments}).encode() + b"\n"
        try:
            async with asyncio.timeout(within_seconds):
                await self._loop.sock_sendall(self._socket, line)
                content, descriptors = await answer
        except (OSError, TimeoutError) as error:
            raise _unavailable() from error
        finally:
            self._answers.pop(number, None)
        if "error" in content:
            raise Conflict(str(content["error"]), "See what the run is doing: corral describe")
        return content, descriptors

    def close(self) -> None:
        if not self.open:
            return
        self.open = False
        self._loop.remove_reader(self._socket)
        self._socket.close()
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ConnectionError("the supervisor hung up"))

    def _read(self) -> None:
        try:
            data, ancillary, _, _ = self._socket.recvmsg(
                65536, socket.CMSG_SPACE(_MOST_DESCRIPTORS * _INT_BYTES), socket.MSG_CMSG_CLOEXEC
            )
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        for _, _, content in ancillary:
            received = array.array("i")
            received.frombytes(content[: len(content) - len(content) % _INT_BYTES])
            self._descriptors += received
        if not data:
            self.close()
            self._on_end()
            return
        self._buffer += data
        while self.open and (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            self._hear(json.loads(line))

    def _hear(self, content: dict[str, object]) -> None:
        state = content.get("state")
        if isinstance(state, dict):
            self._on_state(state["replicas"])
            return
        number = content.get("id")
        # Descriptors travel with the line that they belong to, and one line is answered at a time.
        descriptors, self._descriptors = self._descriptors, []
        answer = self._answers.get(number) if isinstance(number, int) else None
        if answer is not None and not answer.done():
            answer.set_result((content, descriptors))
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _unavailable() -> Unavailable:
    return Unavailable("The supervisor of this run does not answer.", "Try again in a moment.")
