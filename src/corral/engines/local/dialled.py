"""A connection into a run, which says when it is closed."""

import socket
from collections.abc import Callable


class Dialled(socket.socket):
    """Whoever dialled owns it; `on_close` is called once."""

    def __init__(self, descriptor: int, on_close: Callable[[], None]) -> None:
        super().__init__(fileno=descriptor)
        self.setblocking(False)
        self._on_close: Callable[[], None] | None = on_close

    def close(self) -> None:
        on_close, self._on_close = self._on_close, None
        if on_close is not None:
            on_close()
        super().close()
