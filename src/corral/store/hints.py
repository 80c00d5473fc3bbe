"""Hints: "this topic changed, look again". They only wake; what is true is in the database."""

from collections.abc import Callable, Iterable

CHANNEL = "corral"


class Hints:
    """Who listens to which topic in this process."""

    def __init__(self) -> None:
        self._listeners: dict[str, set[Callable[[], None]]] = {}

    def subscribe(self, topic: str, wake: Callable[[], None]) -> Callable[[], None]:
        """Calls `wake` on the event loop at every hint on `topic`, until the returned function is called."""
        self._listeners.setdefault(topic, set()).add(wake)
        return lambda: self._listeners[topic].discard(wake)

    def wake(self, topics: Iterable[str]) -> None:
        for topic in topics:
            for listener in tuple(self._listeners.get(topic, ())):
                listener()
