"""Into running work: commands in it, and connections to its ports."""

import json
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from corral_sdk._problems import Problem
from corral_sdk._transport import API, Transport
from corral_sdk._websocket import Closed, open_websocket

__all__ = ["Connection", "Execution", "LostError", "Output"]

_STREAMS = {1: "out", 2: "error"}


class LostError(Exception):
    """The connection to the command was lost; whether it still runs is not known."""


class Output(NamedTuple):
    """Something the command wrote; `stream` is "out" or "error"."""

    stream: str
    data: bytes


class Execution:
    """A command inside a run. Iterate to read what it writes; afterwards `exit_code` is known.

    Reading and writing may be done in two threads.
    """

    def __init__(
        self,
        transport: Transport,
        workload_id: str,
        command: Sequence[str],
        *,
        replica: int = 0,
        terminal: tuple[int, int] | None = None,
    ) -> None:
        self.exit_code: int | None = None
        target = f"{API}/workloads/{workload_id}/execute?" + urlencode({"replica": replica})
        self._socket = open_websocket(transport, target)
        size = None if terminal is None else {"rows": terminal[0], "columns": terminal[1]}
        self._tell({"command": list(command), "terminal": size})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def __iter__(self) -> Iterator[Output]:
        while True:
            try:
                message = self._socket.receive()
            except Closed as closed:
                raise LostError(closed.reason or "the connection was closed") from closed
            if isinstance(message, bytes):
                yield Output(_STREAMS.get(message[0], "out"), message[1:])
                continue
            told = json.loads(message)
            if "problem" in told:
                raise Problem(told["problem"], int(told["problem"].get("status", 500)))
            if "exit_code" in told:
                self.exit_code = int(told["exit_code"])
                return

    def write(self, data: bytes) -> None:
        self._socket.send(data)

    def close_input(self) -> None:
        """Nothing more will be written."""
        self._tell({"end_of_input": True})

    def resize(self, rows: int, columns: int) -> None:
        self._tell({"terminal": {"rows": rows, "columns": columns}})

    def _tell(self, what: dict[str, Any]) -> None:
        self._socket.send(json.dumps(what))


class Connection:
    """A connection to a port on which something inside a run listens."""

    def __init__(self, transport: Transport, workload_id: str, port: int, *, replica: int = 0) -> None:
        query = urlencode({"port": port, "replica": replica})
        self._socket = open_websocket(transport, f"{API}/workloads/{workload_id}/connect?{query}")

    def read(self) -> bytes:
        """What came, as soon as there is something; nothing when no more will come."""
        while True:
            try:
                message = self._socket.receive()
            except Closed:
                return b""
            if isinstance(message, bytes):
                return message
            if "end_of_output" in json.loads(message):
                return b""

    def write(self, data: bytes) -> None:
        self._socket.send(data)

    def close_input(self) -> None:
        self._socket.send(json.dumps({"end_of_input": True}))

    def close(self) -> None:
        self._socket.close()

    def hang_up(self) -> None:
        """Ends it from another thread."""
        self._socket.hang_up()
