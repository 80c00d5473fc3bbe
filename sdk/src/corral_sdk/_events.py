"""One event of the stream, put together from its fields; the API describes no object for it."""

from dataclasses import dataclass

__all__ = ["Event"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something changed; `kind` "reset" means that events were missed and all is to be read again."""

    id: str
    kind: str
    object_id: str = ""
    generation: int | None = None
    scope: str | None = None
