"""Helpers of the snapshot checks: numbered places, unique names, bounded quantities."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from corral.core.refusals import FieldError

# Far above any cluster, and far below where exact shares would need more bits.
LARGEST = 1 << 44
_T = TypeVar("_T")


def numbered(field: str, items: Iterable[_T]) -> Iterator[tuple[str, _T]]:
    for index, item in enumerate(items):
        yield f"{field}[{index}]", item


def unique(field: str, names: Iterable[str], key: str = "name") -> Iterator[FieldError]:
    first_index: dict[str, int] = {}
    for index, name in enumerate(names):
        if name in first_index:
            yield FieldError(
                f"{field}[{index}].{key}",
                f"{name!r} is also the {key} of {field}[{first_index[name]}].",
                f"Give each its own {key}.",
            )
        first_index.setdefault(name, index)


def quantities(place: str, least: int = 0, **numbers: int) -> Iterator[FieldError]:
    for name, number in numbers.items():
        if not least <= number <= LARGEST:
            yield FieldError(
                f"{place}.{name}",
                f"{number} is not between {least} and {LARGEST}.",
                "Use a number in between.",
            )


def named_once(field: str, names: Iterable[str]) -> Iterator[FieldError]:
    earlier: set[str] = set()
    for index, name in enumerate(names):
        if name in earlier:
            yield FieldError(f"{field}[{index}]", f"{name!r} is named twice.", "Name each once.")
        earlier.add(name)
