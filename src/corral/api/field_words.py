"""What is wrong with a field, in words: no pattern, no class of ours, and what would be right."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from corral.core.refusals import FieldError

__all__ = ["field_errors", "pattern_words"]

_ID = re.compile(r"\^(\[a-z\]|[a-z])\[0123456789abcdefghjkmnpqrstvwxyz\]\{22\}\$")
_PATTERNS = (
    (re.compile(r"^\^\[\^@"), "It is not a mail address.", "Write it like chen@example.edu."),
    (
        re.compile(r"^\^\[a-z\]\[a-z0-9\]\*"),
        "It is not a valid login name.",
        "Use a-z, 0-9 and, between them, . _ -",
    ),
    (
        re.compile(r"^\^\[A-Za-z_\]"),
        "It is not a valid variable name.",
        "Use letters, digits and _, no digit first.",
    ),
    (
        re.compile(r"^\^\[A-Za-z0-9\]\["),
        "It contains characters that are not allowed.",
        "Use letters, digits, . _ and -.",
    ),
    (
        re.compile(r"^\^\[a-z0-9\]\+"),
        "It contains characters that are not allowed.",
        "Use a-z, 0-9 and, between them, . or -.",
    ),
    (
        re.compile(r"^\^\(\?:"),
        "It is not a subject that Corral measures.",
        "Write KIND:ID, such as workload:ID or node:ID.",
    ),
)
# What Pydantic puts into the place of a field when it tried several types.
_TRIED = re.compile(r".*[\[(].*|int|str|float|bool|none|date|datetime")
_NO_KIND = {
    "int": "It is not a whole number.",
    "float": "It is not a number.",
    "decimal": "It is not a number.",
    "bool": "It is neither true nor false.",
    "string": "It is not text.",
    "list": "It is not a list.",
    "tuple": "It is not a list.",
    "dict": "It is not an object.",
    "model": "It is not an object.",
    "dataclass": "It is not an object.",
    "datetime": "It is not a time.",
    "date": "It is not a date.",
}


def field_errors(items: Iterable[Any]) -> Sequence[FieldError]:
    """One for each field, also where several types were tried for it."""
    found: dict[str, FieldError] = {}
    choices: dict[str, list[str]] = {}
    for item in items:
        field = "body" if item["type"] == "json_invalid" else _field(item["loc"])
        message, remedy = _words(item)
        if item["type"] in ("enum", "literal_error"):
            listed = choices.setdefault(field, [])
            listed += [each for each in _choices(item) if each not in listed]
            message, remedy = "It is not an allowed value.", f"Use one of: {', '.join(listed)}."
        found[field] = FieldError(field, message, remedy)
    return list(found.values())


def pattern_words(pattern: str) -> tuple[str, str]:
    """What is wrong, and what would be right, where a text has to have a form."""
    if _ID.fullmatch(pattern):
        return "It is not an id.", "Use an id as it is listed."
    for known, message, remedy in _PATTERNS:
        if known.match(pattern):
            return message, remedy
    return "It contains characters that are not allowed here.", "Use ordinary letters, digits and signs."


def _field(steps: Sequence[Any]) -> str:
    # Positions inside broken JSON are numbers; what users sent is not repeated, it may be a secret or huge.
    place, *rest = (str(step)[:60] for step in steps)
    return ".".join([place, *(step for step in rest if not _TRIED.fullmatch(step))])


def _words(item: Any) -> tuple[str, str]:
    context = item.get("ctx") or {}
    match item["type"]:
        case "json_invalid":
            said = str(context.get("error", item["msg"]))
            return _sentence(said), "Send a JSON document, with Content-Type: application/json."
        case "missing":
            return "It is missing.", "Give a value for it."
        case "extra_forbidden":
            return "It is unknown.", "Leave it out."
        case "string_pattern_mismatch":
            return pattern_words(str(context.get("pattern", "")))
        case "string_too_long" | "too_long":
            return "It is too long.", f"At most {context.get('max_length')}."
        case "string_too_short" | "too_short":
            least = context.get("min_length")
            return ("It is empty." if least == 1 else "It is too short."), f"At least {least}."
        case "greater_than_equal":
            return "It is too small.", f"At least {context.get('ge')}."
        case "greater_than":
            return "It is too small.", f"More than {context.get('gt')}."
        case "less_than_equal":
            return "It is too large.", f"At most {context.get('le')}."
        case "less_than":
            return "It is too large.", f"Less than {context.get('lt')}."
        case kind if kind.partition("_")[0] in _NO_KIND:
            return _NO_KIND[kind.partition("_")[0]], "See the API description for what is allowed."
        case _:
            return _sentence(str(item["msg"]).removeprefix("Value error, ")), "Correct it."


def _choices(item: Any) -> list[str]:
    expected = str((item.get("ctx") or {}).get("expected", ""))
    return re.findall(r"'([^']*)'", expected) or [expected]


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else f"{text}."
