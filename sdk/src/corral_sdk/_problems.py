"""What can go wrong, in the words of the API."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = [
    "CorralError",
    "FieldProblem",
    "NotConfiguredError",
    "Problem",
    "UnexpectedAnswerError",
    "UnreachableError",
    "UntrustedError",
]


class CorralError(Exception):
    """Base of everything this package raises. `title` says what, `remedy` what to do."""

    def __init__(self, title: str, detail: str = "", remedy: str = "") -> None:
        super().__init__(" ".join(part for part in (title, detail, remedy) if part))
        self.title = title
        self.detail = detail
        self.remedy = remedy


class NotConfiguredError(CorralError):
    """No Corral is known: no address was given, saved or found on this machine."""


class UnreachableError(CorralError):
    """Nothing answered at the address."""


class UntrustedError(UnreachableError):
    """What answered cannot prove that it is the Corral that was named; nothing was sent to it."""


class UnexpectedAnswerError(CorralError):
    """Something answered that is not Corral, or a Corral this version does not understand."""


@dataclass(frozen=True)
class FieldProblem:
    """What is wrong with one field of the input."""

    field: str
    message: str
    remedy: str = ""


class Problem(CorralError):
    """The API refused. `kind` is the last part of the problem's type, such as `not-found`."""

    def __init__(self, document: Mapping[str, Any], status: int) -> None:
        known = ("type", "title", "status", "detail", "remedy", "request_id", "errors")
        super().__init__(
            str(document.get("title") or f"HTTP status {status}"),
            str(document.get("detail") or ""),
            str(document.get("remedy") or ""),
        )
        self.document = dict(document)
        self.status = status
        self.kind = str(document.get("type") or "").rpartition("/")[2]
        self.request_id = str(document.get("request_id") or "")
        self.errors = tuple(_field_problem(each) for each in document.get("errors") or ())
        self.facts = {key: value for key, value in document.items() if key not in known}


def _field_problem(error: Mapping[str, Any]) -> FieldProblem:
    texts = {key: str(error.get(key) or "") for key in ("field", "message", "remedy")}
    return FieldProblem(**texts)
