"""Pages put together are the whole list, whatever the order, the size and the content."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, insert, select
from sqlalchemy.engine import Connection

from corral.api.pages import Order, Page, choose_order, page_of
from corral.core.refusals import Invalid
from corral.store.database import Database, Transaction
from corral.store.schema import ordered_string

THINGS = Table(
    "thing",
    MetaData(),
    Column("id", ordered_string(30), primary_key=True),
    Column("name", ordered_string(60), nullable=False),
    Column("size", Integer, nullable=False),
    Column("note", String(10)),
)
SORTS = {"id": (THINGS.c.id,), "name": (THINGS.c.name, THINGS.c.id), "size": (THINGS.c.size, THINGS.c.id)}

names = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=12)
rows = st.lists(
    st.fixed_dictionaries(
        {"id": st.text("abc0", min_size=1, max_size=6), "name": names, "size": st.integers(-5, 5)}
    ),
    unique_by=lambda row: row["id"],
    max_size=25,
)
sorts = st.sampled_from([sign + name for name in SORTS for sign in ("", "-")])


@pytest.fixture(scope="module")
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        THINGS.create(connection)
        yield connection
    engine.dispose()


def ids_of(page: Any) -> list[str]:
    return [row.id for row in page]


def all_pages(rows_of: Any, order: Order, limit: int) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        page = page_of(
            Page[str],
            rows_of,
            select(THINGS.c.id),
            order,
            cursor,
            limit,
            ids_of,
        )
        assert len(page.items) <= limit
        found += page.items
        if page.next_cursor is None:
            return found
        assert page.items, "an empty page that is not the last"
        cursor = page.next_cursor


def whole(given_rows: list[dict[str, Any]], sort: str) -> list[str]:
    key = sort.removeprefix("-")

    def position(row: dict[str, Any]) -> Any:
        value = row[key]
        return (value.encode() if isinstance(value, str) else value, row["id"].encode())

    return [row["id"] for row in sorted(given_rows, key=position, reverse=sort.startswith("-"))]


@given(given_rows=rows, sort=sorts, limit=st.integers(1, 7))
def test_pages_put_together_are_the_whole_list(
    connection: Connection, given_rows: list[dict[str, Any]], sort: str, limit: int
) -> None:
    connection.execute(THINGS.delete())
    if given_rows:
        connection.execute(insert(THINGS), given_rows)
    pages = all_pages(lambda statement: connection.execute(statement).all(), choose_order(sort, SORTS), limit)
    assert pages == whole(given_rows, sort)


async def test_both_databases_sort_alike(database: Database) -> None:
    given_rows = [
        {"id": f"{n}", "name": name, "size": n % 3}
        for n, name in enumerate(["b", "B", "a", "Ä", "_", "ä", "Z", "中", "á", "a b", "a-b", "ab", ""])
    ]

    def fill(transaction: Transaction) -> None:
        THINGS.create(transaction.connection)
        transaction.run(insert(THINGS), given_rows)

    await database.write(fill)
    for sort in ("name", "-name", "size", "-size", "id"):
        order = choose_order(sort, SORTS)
        pages = await database.read(lambda tx, order=order: all_pages(tx.rows, order, 4))
        assert pages == whole(given_rows, sort)


def test_row_added_meanwhile_shows_once_or_not_at_all(connection: Connection) -> None:
    connection.execute(THINGS.delete())
    connection.execute(insert(THINGS), [{"id": x, "name": x, "size": 0} for x in "bdf"])
    order = choose_order("name", SORTS)

    def rows_of(statement: Any) -> Any:
        return connection.execute(statement).all()

    first = page_of(Page[str], rows_of, select(THINGS.c.id), order, None, 2, ids_of)
    connection.execute(insert(THINGS), [{"id": x, "name": x, "size": 0} for x in "ae"])
    second = page_of(
        Page[str],
        rows_of,
        select(THINGS.c.id),
        order,
        first.next_cursor,
        5,
        ids_of,
    )
    assert first.items + second.items == ["b", "d", "e", "f"]


def cursor_of(*values: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "!!!",
        "é",
        "bnVsbA",
        cursor_of(),
        cursor_of("name"),
        cursor_of("name", "a"),
        cursor_of("name", "a", 1),
        cursor_of("name", "a", None),
        cursor_of("name", "a\x00", "b"),
        cursor_of("name", "\ud800", "b"),
        cursor_of("-name", "a", "b"),
        cursor_of("size", 1, "b"),
        cursor_of("name", ["a"], "b"),
        base64.urlsafe_b64encode(b'{"a":1}').decode(),
    ],
)
def test_cursor_of_another_list_is_refused_by_name(connection: Connection, cursor: str) -> None:
    order = choose_order("name", SORTS)
    with pytest.raises(Invalid) as refused:
        page_of(
            Page[str],
            lambda statement: connection.execute(statement).all(),
            select(THINGS.c.id),
            order,
            cursor,
            5,
            ids_of,
        )
    assert refused.value.errors[0].field == "query.cursor"


def is_storable(value: object) -> bool:
    return isinstance(value, str) and not any(one == "\0" or "\ud800" <= one <= "\udfff" for one in value)


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just([])
# Nearly right ones, because random text is hardly ever a cursor.
positions = st.lists(anything | names, min_size=1, max_size=3) | st.tuples(names, names).map(list)
cursors = st.tuples(st.sampled_from(["name", "name", "name", "-name", "size", None]), positions).map(
    lambda given: [given[0], *given[1]]
)


def encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


# What is no list of a cursor at all, at each step of reading one: no base64, no UTF-8, no JSON, no list.
broken = st.one_of(
    st.text(max_size=60),
    st.binary(max_size=40).map(encoded),
    st.text(max_size=20).map(lambda text: encoded(text.encode("utf-8", "surrogatepass"))),
    (anything | st.dictionaries(names, anything, max_size=2)).map(
        lambda one: encoded(json.dumps(one).encode())
    ),
    st.integers(1, 300).map(lambda depth: encoded(b"[" * depth + b"]" * depth)),
)


@given(broken)
@example(encoded(b"7"))
@example(encoded(b"NaN"))
@example(encoded(b"[" * 5000))
def test_no_cursor_breaks_anything(connection: Connection, cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        page_after(connection, cursor)
    assert refused.value.errors[0].field == "query.cursor"


@given(cursors, rows, st.booleans())
def test_cursor_is_a_position_of_this_order_or_refused(
    connection: Connection, values: list[Any], given_rows: list[dict[str, Any]], at_a_row: bool
) -> None:
    connection.execute(THINGS.delete())
    if given_rows:
        connection.execute(insert(THINGS), given_rows)
    if given_rows and at_a_row:
        values = ["name", given_rows[0]["name"], given_rows[0]["id"]]
    sort, *position = values
    if sort == "name" and len(position) == 2 and all(map(is_storable, position)):
        after = tuple(one.encode() for one in position)
        behind = [row for row in given_rows if (row["name"].encode(), row["id"].encode()) > after]
        assert page_after(connection, cursor_of(*values)).items == whole(behind, "name")[:5]
    else:
        with pytest.raises(Invalid) as refused:
            page_after(connection, cursor_of(*values))
        assert refused.value.errors[0].field == "query.cursor"


def page_after(connection: Connection, cursor: str) -> Page[str]:
    return page_of(
        Page[str],
        lambda statement: connection.execute(statement).all(),
        select(THINGS.c.id),
        choose_order("name", SORTS),
        cursor,
        5,
        ids_of,
    )


@pytest.mark.parametrize("number", [2**31, -(2**31), 2**70])
def test_number_too_large_for_the_column_is_refused(connection: Connection, number: int) -> None:
    with pytest.raises(Invalid):
        page_of(
            Page[str],
            lambda statement: connection.execute(statement).all(),
            select(THINGS.c.id),
            choose_order("size", SORTS),
            cursor_of("size", number, "a"),
            5,
            ids_of,
        )


@pytest.mark.parametrize("sort", ["", "-", "secret_hash", "name;", "--name", "NAME"])
def test_sort_that_is_not_allowed_is_refused_with_what_is(sort: str) -> None:
    with pytest.raises(Invalid) as refused:
        choose_order(sort, SORTS)
    assert refused.value.errors[0].field == "query.sort"
    assert "id, name, size" in refused.value.errors[0].remedy
