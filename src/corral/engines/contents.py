"""Content by reference: a task names what it needs by digest and size, the engine finds the bytes.

Whoever opens an engine hands it a `ContentStore`. On the machine where content arrived that is a directory; a
store on another machine fetches what it lacks first. Either way the engine gets a file that it can open.
"""

from dataclasses import dataclass
from typing import Protocol

from corral.engines.archives.limits import Archive, Form


@dataclass(frozen=True, slots=True)
class Content:
    """An archive, whatever place it is kept in. `form` is None where nobody declared it."""

    sha256: str
    size_bytes: int
    form: Form | None = None


class ContentMissing(Exception):
    """The content cannot be had here, in words: the run that needs it is refused."""


class ContentStore(Protocol):
    def find(self, content: Content) -> Archive:
        """A file with this content, which nobody changes. It may block: call it in a thread.

        Raises `ContentMissing`.
        """


class NoContents:
    """The store of an engine that was opened without one."""

    def find(self, content: Content) -> Archive:
        raise ContentMissing(f"there is no store here that could have {content.sha256[:12]}")
