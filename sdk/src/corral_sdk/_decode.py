"""JSON to frozen dataclasses and back, driven by their annotations. Unknown fields are left aside, so that a
newer Corral can be used with an older client."""

import dataclasses
import types
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from corral_sdk._problems import UnexpectedAnswerError

__all__ = ["decode", "encode"]

T = TypeVar("T")


def decode(kind: type[T], value: object) -> T:
    """The dataclass `kind` from a JSON object."""
    if not isinstance(value, Mapping):
        raise UnexpectedAnswerError("The answer is not what was asked for.", f"Expected: {kind.__name__}.")
    given = {}
    for name, convert, required in _plan(cast("Hashable", kind)):
        if name in value:
            given[name] = convert(value[name])
        elif required:
            raise UnexpectedAnswerError(
                f"The answer has no field {name} of {kind.__name__}.",
                remedy="Use versions of Corral and of its client that belong together.",
            )
    return kind(**given)


def encode(value: object) -> Any:
    """JSON-ready: dataclasses as objects, times as ISO 8601 in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {each.name: encode(getattr(value, each.name)) for each in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: encode(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    return value


@cache
def _plan(kind: Any) -> tuple[tuple[str, Callable[[Any], Any], bool], ...]:
    hints = get_type_hints(kind)
    return tuple(
        (
            each.name,
            _converter(hints[each.name]),
            each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING,
        )
        for each in dataclasses.fields(kind)
    )


def _converter(hint: Any) -> Callable[[Any], Any]:
    if get_origin(hint) is types.UnionType:
        (inner,) = (each for each in get_args(hint) if each is not type(None))
        convert = _converter(inner)
        return lambda value: None if value is None else convert(value)
    if get_origin(hint) is tuple:
        convert = _converter(get_args(hint)[0])
        return lambda value: tuple(convert(each) for each in value)
    if get_origin(hint) is Mapping:
        convert = _converter(get_args(hint)[1])
        return lambda value: {name: convert(each) for name, each in value.items()}
    if dataclasses.is_dataclass(hint):
        return lambda value: decode(cast("type[Any]", hint), value)
    if hint is datetime:
        return _time
    return lambda value: value


def _time(value: str) -> datetime:
    time = datetime.fromisoformat(value)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
