"""Connections into an attempt: how much went through them, and when they are closed."""

import contextlib
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

from corral.engines.local.records import tally

# Where the kernel's struct tcp_info has what was received, what waits to be sent, and what was sent.
_INFO = struct.Struct("=128xQ8xI52xQ")


class DialedSocket(socket.socket):
    """Whoever dialled owns it and closes it; `on_close` is called once.

    Some event loops close the descriptor themselves and detach the socket afterwards, when the kernel can no
    longer be asked by it. So a second descriptor is asked, and closed with the first.
    """

    def __init__(self, descriptor: int, on_close: Callable[["DialedSocket"], None]) -> None:
        super().__init__(fileno=descriptor)
        self.setblocking(False)
        self._meter = socket.socket(fileno=os.dup(descriptor))
        self._on_close: Callable[[DialedSocket], None] | None = on_close

    def close(self) -> None:
        super().close()
        self._let_go()

    def detach(self) -> int:
        descriptor = super().detach()
        self._let_go()
        return descriptor

    def _let_go(self) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is None:
            return
        with self._meter:
            on_close(self)
            with contextlib.suppress(OSError):  # the other side was faster
                self._meter.shutdown(socket.SHUT_RDWR)

    def counted(self) -> tuple[int, int]:
        """Bytes that the run has received and sent through it, as the kernel counts: an end is a byte."""
        info = self._meter.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO.size)
        received, waiting, sent = _INFO.unpack(info)
        return sent + waiting, received


class DialedConnections:
    """The open connections into one attempt, and what went through all of them until now.

    It is written down when one is closed and with every sample: a Corral that is killed loses what its open
    connections carried since.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._closed: tuple[int, int] | None = None  # until it is needed
        self._open: set[DialedSocket] = set()

    def add(self, descriptor: int, on_close: Callable[[], None]) -> DialedSocket:
        def close(one: DialedSocket) -> None:
            self._open.discard(one)
            self._closed = _sum(self._before(), one.counted())
            self.write_down()
            on_close()

        self._before()
        dialled = DialedSocket(descriptor, close)
        self._open.add(dialled)
        return dialled

    def write_down(self) -> None:
        if self._closed is not None:
            total = self._closed
            for one in self._open:
                total = _sum(total, one.counted())
            tally.write_dials(self._directory, *total)

    def _before(self) -> tuple[int, int]:
        if self._closed is None:
            self._closed = tally.read_dials(self._directory)
        return self._closed


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]
