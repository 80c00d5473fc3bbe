"""Hints: "this topic changed, look again". They only wake; what is true is in the database."""

import secrets
from collections.abc import Callable, Iterable

CHANNEL = "corral"


class Hints:
    """Who listens to which topic in this process."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Callable[[], None]]] = {}
        self._process = secrets.token_hex(6)

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Calls `wake` on the event loop at every hint on `topic`, until the returned function is called."""
        self._listeners.setdefault(topic, set()).add(wake)
        return lambda: self._listeners[topic].discard(wake)

    def wake(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for listener in tuple(self._listeners.get(topic, ())):
                listener()

    def wake_all(self) -> None:
        """After a time in which hints may have been lost."""
        self.wake(tuple(self._listeners))

    def to_others(self, topic: str) -> str:
        """What is sent to other processes: the topic, and from whom."""
        return f"{self._process} {topic}"

    def from_others(self, message: str) -> None:
        """Takes what another process sent; our own come back, too, and were acted on when they were sent."""
        process, _, topic = message.partition(" ")
        if process != self._process:
            self.wake([topic])
