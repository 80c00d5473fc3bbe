"""JSON from outside: read with bounds, before anything is made of it."""

import json
import math
from typing import Any

MOST_DEPTH = 32
# Of one object. Every unknown member is an error of its own: 150,000 of them took seconds.
MOST_MEMBERS = 5_000


class BadJson(ValueError):
    """Says what is wrong, in words for whoever sent it."""


def read_json(text: bytes | str) -> Any:
    """The parsed document; raises `BadJson`, also for deep nesting and numbers too large to store."""
    try:
        document = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except RecursionError:
        raise _too_deep() from None
    except BadJson:
        raise
    except json.JSONDecodeError as error:
        raise BadJson(f"it is not valid JSON: {error.msg} at character {error.pos}") from None
    except ValueError:
        raise BadJson("it contains text that is not UTF-8, or a number that is too long") from None
    if _openings(text) > MOST_DEPTH and is_deeper(document, MOST_DEPTH):
        raise _too_deep()
    if _colons(text) > MOST_MEMBERS and _has_larger(document):
        raise BadJson(f"it contains an object with more than {MOST_MEMBERS} members")
    return document


def _has_larger(document: Any) -> bool:
    """Whether an object has too many members; what is too deep was refused before."""
    left = [document]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            if len(one) > MOST_MEMBERS:
                return True
            left.extend(one.values())
        elif isinstance(one, list):
            left.extend(one)
    return False


def is_deeper(value: Any, most: int) -> bool:
    """Whether lists and objects are nested in more than so many levels."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in ([*one.values()] if isinstance(one, dict) else one) or (None,)
        ]
        if not level:
            return False
    return True


def _openings(text: bytes | str) -> int:
    """An upper bound of the depth; for most documents it settles the question."""
    if isinstance(text, str):
        return text.count("[") + text.count("{")
    return text.count(b"[") + text.count(b"{")


def _colons(text: bytes | str) -> int:
    """An upper bound of the number of members."""
    return text.count(":") if isinstance(text, str) else text.count(b":")


def _too_deep() -> BadJson:
    return BadJson(f"it is nested more than {MOST_DEPTH} levels deep")


def _no_constant(name: str) -> float:
    raise BadJson(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BadJson("it contains a number that is too large")
    return number
