"""Corral's side of a session: streams as descriptors, the exit code through a channel."""

import asyncio
import contextlib
import errno
import fcntl
import json
import os
import socket
import struct
import termios
from collections.abc import Callable

from corral.engines.sessions import Terminal

KILLED = 128 + 9


class LocalSession:
    """Implements `Session`. With a terminal, input and output are one descriptor and there are no errors."""

    def __init__(self, descriptors: list[int], on_close: Callable[[], None]) -> None:
        channel, *streams = descriptors
        for descriptor in streams:
            os.set_blocking(descriptor, False)
        self._channel = socket.socket(fileno=channel)
        self._channel.setblocking(False)
        self._terminal = streams[0] if len(streams) == 1 else None
        self._streams = streams if len(streams) > 1 else [streams[0], streams[0]]
        self._open = set(streams)
        self._exit_code: int | None = None
        self._on_close = on_close  # may be called again

    async def read(self, limit: int = 65536) -> bytes:
        return await self._read(self._streams[1], limit)

    async def read_error(self, limit: int = 65536) -> bytes:
        return b"" if self._terminal is not None else await self._read(self._streams[2], limit)

    async def write(self, data: bytes) -> None:
        descriptor = self._streams[0]
        view = memoryview(data)
        while view:
            if descriptor not in self._open:
                raise BrokenPipeError(errno.EPIPE, "the input is closed")
            try:
                view = view[os.write(descriptor, view) :]
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                await _once(descriptor, loop.add_writer, loop.remove_writer)

    async def close_input(self) -> None:
        if self._terminal is None:
            self._close(self._streams[0])
        else:
            await self.write(b"\x04")  # what a person types to say so

    async def resize(self, terminal: Terminal) -> None:
        if self._terminal is not None and self._terminal in self._open:
            size = struct.pack("4H", terminal.rows, terminal.columns, 0, 0)
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    async def wait(self) -> int:
        if self._exit_code is None:
            answer = b""
            with contextlib.suppress(OSError):
                answer = await asyncio.get_running_loop().sock_recv(self._channel, 1000)
            # Without a last word the run has ended around it.
            self._exit_code = int(json.loads(answer)["exit_code"]) if answer else KILLED
        return self._exit_code

    async def close(self) -> None:
        self._channel.close()
        for descriptor in list(self._open):
            self._close(descriptor)
        self._on_close()

    async def _read(self, descriptor: int, limit: int) -> bytes:
        while descriptor in self._open:
            try:
                return os.read(descriptor, limit)
            except BlockingIOError:
                loop = asyncio.get_running_loop()
                await _once(descriptor, loop.add_reader, loop.remove_reader)
            except OSError as error:
                if error.errno != errno.EIO:  # how a terminal says that its last process is gone
                    raise
                return b""
        return b""

    def _close(self, descriptor: int) -> None:
        if descriptor in self._open:
            self._open.remove(descriptor)
            os.close(descriptor)


async def _once(
    descriptor: int,
    add: Callable[[int, Callable[[], None]], None],
    remove: Callable[[int], bool],
) -> None:
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    add(descriptor, lambda: None if ready.done() else ready.set_result(None))
    try:
        await ready
    finally:
        remove(descriptor)
