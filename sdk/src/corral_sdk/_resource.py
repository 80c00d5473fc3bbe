"""What all resources share: pages, creates with an idempotency key, changes with the generation seen."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from corral_sdk._decode import decode, encode
from corral_sdk._problems import UnexpectedAnswerError
from corral_sdk._transport import API, Transport

__all__ = ["UNCHANGED", "Page", "Resource", "given"]

T = TypeVar("T")

MOST_PER_PAGE = 200


class _Unchanged:
    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED: Any = _Unchanged()
"""The default of every optional field of an update; None is a value of its own there."""


def given(**fields: object) -> dict[str, Any]:
    """The fields that were given a value."""
    return {name: encode(value) for name, value in fields.items() if value is not UNCHANGED}


@dataclass(frozen=True)
class Page(Generic[T]):
    """Some items of a list; `next_cursor` is None on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None


class Resource:
    """One kind of object of the API."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _get(self, kind: type[T], *path: str, query: Mapping[str, object] | None = None) -> T:
        return decode(kind, self._transport.request("GET", _path(path), query=query).json())

    def _page(self, kind: type[T], *path: str, query: Mapping[str, object] | None = None) -> Page[T]:
        document = self._transport.request("GET", _path(path), query=query).json()
        if not isinstance(document, dict) or not isinstance(document.get("items"), list):
            raise UnexpectedAnswerError("The answer is not a list of Corral's.")
        items = tuple(decode(kind, item) for item in document["items"])
        return Page(items, document.get("next_cursor"))

    def _each(self, kind: type[T], *path: str, query: Mapping[str, object] | None = None) -> Iterator[T]:
        """All items, page after page; each page is requested when it is needed."""
        cursor: str | None = None
        while True:
            page = self._page(kind, *path, query={"limit": MOST_PER_PAGE, **(query or {}), "cursor": cursor})
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def _create(self, kind: type[T], *path: str, body: Mapping[str, object] | None) -> T:
        return decode(kind, self._transport.request("POST", _path(path), body=body, create=True).json())

    def _act(self, *path: str, body: Mapping[str, object] | None = None) -> Any:
        """A POST that is no create; what it answers, or None."""
        answer = self._transport.request("POST", _path(path), body=body)
        return answer.json() if answer.body else None

    def _change(
        self, method: str, kind: type[T], *path: str, body: Mapping[str, object], generation: int | None
    ) -> T:
        headers = {"If-Match": _if_match(generation)}
        return decode(
            kind, self._transport.request(method, _path(path), body=dict(body), headers=headers).json()
        )

    def _put(self, kind: type[T], *path: str) -> T:
        """An idempotent PUT without a body."""
        return decode(kind, self._transport.request("PUT", _path(path)).json())

    def _delete(self, *path: str, generation: int | None = None) -> None:
        self._transport.request("DELETE", _path(path), headers={"If-Match": _if_match(generation)})


def _if_match(generation: int | None) -> str:
    return "*" if generation is None else f'"{generation}"'


def _path(parts: tuple[str, ...]) -> str:
    return "/".join([API, *(quote(part, safe="") for part in parts)])
