"""Messages between the gateway and the API, over a Unix socket: JSON, and now and then a descriptor with it.

Every message is one packet. A question has an `id`; its answer has the same one.
"""

import asyncio
import contextlib
import json
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

MOST_BYTES = 64 * 1024
_MOST_UNSENT = 1000

Message = dict[str, Any]
Received = Callable[[Message, socket.socket | None], None]


class ChannelClosedError(ConnectionError):
    """The other side has gone."""


class Channel:
    """One end. `received` gets every message; `closed` is called once, when the other end has gone."""

    def __init__(self, connected: socket.socket, received: Received, closed: Callable[[], None]) -> None:
        self._socket = connected
        self._received = received
        self._closed = closed
        self._loop = asyncio.get_running_loop()
        self._unsent: deque[tuple[bytes, int | None, Callable[[], None]]] = deque()
        self._is_open = True
        connected.setblocking(False)
        self._loop.add_reader(connected.fileno(), self._read)

    def send(
        self, message: Message, descriptor: int | None = None, sent: Callable[[], None] = lambda: None
    ) -> None:
        """`sent` is called when the descriptor may be closed here: it is the other side's, or nobody's."""
        data = json.dumps(message).encode()
        if not self._is_open or len(data) > MOST_BYTES or len(self._unsent) >= _MOST_UNSENT:
            sent()
            self.close()
            return
        self._unsent.append((data, descriptor, sent))
        if len(self._unsent) == 1:
            self._write()

    def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._loop.remove_reader(self._socket.fileno())
        self._loop.remove_writer(self._socket.fileno())
        self._socket.close()
        while self._unsent:
            self._unsent.popleft()[2]()
        self._closed()

    def _write(self) -> None:
        while self._unsent:
            data, descriptor, sent = self._unsent[0]
            try:
                if descriptor is None:
                    self._socket.send(data)
                else:
                    socket.send_fds(self._socket, [data], [descriptor])
            except BlockingIOError:
                self._loop.add_writer(self._socket.fileno(), self._write)
                return
            except OSError:
                self.close()
                return
            self._unsent.popleft()
            sent()
        self._loop.remove_writer(self._socket.fileno())

    def _read(self) -> None:
        try:
            data, descriptors, flags, _ = socket.recv_fds(self._socket, MOST_BYTES, 1)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        passed = [socket.socket(fileno=each) for each in descriptors]
        if not data or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            for each in passed:
                each.close()
            self.close()
            return
        with contextlib.ExitStack() as unused:
            for each in passed:
                unused.callback(each.close)
            message = json.loads(data)
            if not isinstance(message, dict):
                self.close()
                return
            unused.pop_all()
            self._received(message, passed[0] if passed else None)


class Caller:
    """Asks over a channel, and matches answers with questions."""

    def __init__(self, connected: socket.socket, closed: Callable[[], None] = lambda: None) -> None:
        self._waiting: dict[int, asyncio.Future[tuple[Message, socket.socket | None]]] = {}
        self._numbers = 0
        self._told = closed
        self._channel = Channel(connected, self._answered, self._gone)
        self.is_open = True

    async def ask(self, message: Message) -> tuple[Message, socket.socket | None]:
        if not self.is_open:
            raise ChannelClosedError
        self._numbers += 1
        number = self._numbers
        future = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        self._channel.send({**message, "id": number})
        try:
            answer: tuple[Message, socket.socket | None] = await future
            return answer
        finally:
            self._waiting.pop(number, None)

    def tell(self, message: Message) -> None:
        """Without an answer."""
        self._channel.send(message)

    def close(self) -> None:
        self._channel.close()

    def _answered(self, message: Message, passed: socket.socket | None) -> None:
        future = self._waiting.pop(int(message.get("id", 0)), None)
        if future is not None and not future.done():
            future.set_result((message, passed))
        elif passed is not None:
            passed.close()

    def _gone(self) -> None:
        self.is_open = False
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(ChannelClosedError())
        self._told()
