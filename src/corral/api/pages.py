"""Pages by key, not by offset: a cursor holds where the last page ended, so a page costs what it shows."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import Field
from sqlalchemy import BigInteger, ColumnElement, Select, tuple_

from corral.api.models import Output
from corral.core.json_text import read_json
from corral.core.refusals import Invalid
from corral.store.database import AnyRow

P = TypeVar("P")
T = TypeVar("T")

MOST = 200
# JSON can write what no database takes: NUL, and halves of surrogate pairs.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Limit = Annotated[int, Query(ge=1, le=MOST, description="How many items at most.")]
Cursor = Annotated[
    str | None,
    Query(max_length=600, description="`next_cursor` of the previous page; leave it out for the first."),
]


class Page(Output, Generic[T]):
    items: list[T]
    next_cursor: str | None = Field(
        description="Pass it as `cursor` to get the next page; null on the last page."
    )


@dataclass(frozen=True, slots=True)
class Order:
    """How a list is sorted: columns that together are unique, all in one direction."""

    name: str
    columns: tuple[ColumnElement[Any], ...]
    descending: bool = False


def choose_order(sort: str, allowed: Mapping[str, tuple[ColumnElement[Any], ...]]) -> Order:
    """The order for `sort` (`name`, or `-name` for descending), from an allowlist."""
    name = sort.removeprefix("-")
    if name not in allowed:
        choices = ", ".join(allowed)
        raise Invalid.field(
            "query.sort", f"Cannot sort by {name[:40]}.", f"Use one of: {choices}; with - for descending."
        )
    return Order(sort, allowed[name], sort.startswith("-"))


def page_of(
    page: Callable[..., P],
    rows: Callable[[Select[Any]], Sequence[AnyRow]],
    statement: Select[Any],
    order: Order,
    cursor: str | None,
    limit: int,
    build: Callable[[Sequence[AnyRow]], list[T]],
) -> P:
    """One page of `statement`, made by `page(items=…, next_cursor=…)`: a `Page[…]`, or a plain dict.

    The order's columns are selected beside the statement's own and end up in the cursor.
    """
    keys = [column.label(f"_key{index}") for index, column in enumerate(order.columns)]
    statement = statement.add_columns(*keys)
    if cursor is not None:
        position = tuple_(*order.columns)
        values = tuple_(*_read_cursor(cursor, order))
        statement = statement.where(position < values if order.descending else position > values)
    statement = statement.order_by(*(c.desc() if order.descending else c.asc() for c in order.columns))
    found = rows(statement.limit(limit + 1))
    more = len(found) > limit
    found = found[:limit]
    next_cursor = _write_cursor(order, list(found[-1])[-len(keys) :]) if more else None
    return page(items=build(found), next_cursor=next_cursor)


def _write_cursor(order: Order, values: list[Any]) -> str:
    raw = json.dumps([order.name, *values], separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _read_cursor(cursor: str, order: Order) -> list[Any]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        values: list[Any]
        sort, *values = read_json(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError) as error:
        raise _bad_cursor() from error
    fits = len(values) == len(order.columns) and all(
        _fits(value, column) for value, column in zip(values, order.columns, strict=True)
    )
    if sort != order.name or not fits:
        raise _bad_cursor()
    return values


def _fits(value: Any, column: ColumnElement[Any]) -> bool:
    """Whether the database can compare the value with the column."""
    if type(value) is not column.type.python_type:
        return False
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    return bool(abs(value) < (2**62 if isinstance(column.type, BigInteger) else 2**31))


def _bad_cursor() -> Invalid:
    return Invalid.field(
        "query.cursor",
        "The cursor does not belong to this list and order.",
        "Use next_cursor of the previous page, with the same sort; leave it out for the first page.",
    )
