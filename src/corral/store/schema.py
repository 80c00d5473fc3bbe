"""What all tables are made of: naming conventions and column types that mean the same on both databases."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    Dialect,
    MetaData,
    String,
    Text,
    TypeDecorator,
    bindparam,
    select,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from corral.core.ids import LENGTH

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Instant(TypeDecorator[datetime]):
    """A moment in UTC, stored as integer microseconds: exact, sortable, without time-zone surprises."""

    impl = BigInteger
    cache_ok = True

    # The processors themselves, instead of methods that a processor calls for every value: lists have many.
    def bind_processor(self, dialect: Dialect) -> Any:  # noqa: ARG002
        return _microseconds

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:  # noqa: ARG002
        return _moment


def _microseconds(value: datetime | None) -> int | None:
    return None if value is None else (value - _EPOCH) // _MICROSECOND


def _moment(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + value * _MICROSECOND


def ordered_string(length: int) -> String:
    """Text that compares byte by byte on both databases, as keyset pages and path ranges need."""
    return String(length).with_variant(String(length, collation="C"), "postgresql")


def identifier() -> String:
    return ordered_string(LENGTH)


class _Document(TypeDecorator[Any]):
    """JSON; what is none (SQLite keeps any text) is read as None."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        is_postgresql = dialect.name == "postgresql"
        return dialect.type_descriptor(JSONB(none_as_null=True) if is_postgresql else JSON(none_as_null=True))

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        read = super().result_processor(dialect, coltype)
        if read is None:  # the driver reads it, and PostgreSQL keeps nothing else
            return None

        def process(value: Any) -> Any:
            try:
                return read(value)
            except (ValueError, RecursionError):
                return None

        return process


def document_value() -> TypeEngine[Any]:
    """JSON of one thing among many that are listed together: damaged, it must not hide the others."""
    return _Document(none_as_null=True)


def json_value() -> JSON:
    return JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


def any_of(column: ColumnElement[str], parameter: str) -> ColumnElement[bool]:
    """`column` is among the strings of a JSON list given as `parameter`.

    One parameter however long the list, so that the statement is compiled once; `in_` with a list is expanded
    anew at every execution, which costs more than the query.
    """
    texts = _JsonTexts(bindparam(parameter, type_=Text)).table_valued("value")
    return column.in_(select(texts.c.value))


class _JsonTexts(FunctionElement[Any]):
    """The elements of a JSON list of strings, as rows."""

    name = "json_texts"
    inherit_cache = True


@compiles(_JsonTexts, "sqlite")
def _json_texts_sqlite(element: _JsonTexts, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(_JsonTexts, "postgresql")
def _json_texts_postgresql(element: _JsonTexts, compiler: SQLCompiler, **options: Any) -> str:
    return f"jsonb_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS jsonb))"


JsonObject = dict[str, Any]
