"""Typed refusals: made where the decision is made, shown unchanged in API, command and console.

Each carries what was refused (`detail`), what to do about it (`remedy`) and, where input is at fault, one
`FieldError` per field.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class FieldError:
    field: str
    message: str
    remedy: str


class Refusal(Exception):
    """Base of all refusals; `slug` names the kind of problem, `status` is its HTTP status."""

    slug: ClassVar[str]
    title: ClassVar[str]
    status: ClassVar[int]

    def __init__(
        self,
        detail: str,
        remedy: str,
        *,
        errors: Sequence[FieldError] = (),
        facts: Mapping[str, int | str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.remedy = remedy
        self.errors = tuple(errors)
        self.facts = dict(facts or {})
        self.headers = dict(headers or {})


class Invalid(Refusal):
    slug, title, status = "invalid", "The input is not valid", 422

    @classmethod
    def field(cls, field: str, message: str, remedy: str) -> "Invalid":
        """The common case: one field is wrong."""
        return cls(message, remedy, errors=[FieldError(field, message, remedy)])


class Malformed(Refusal):
    slug, title, status = "malformed", "The request cannot be read", 400


class Unauthenticated(Refusal):
    slug, title, status = "unauthenticated", "You are not signed in", 401


class LoginFailed(Refusal):
    slug, title, status = "login-failed", "Signing in failed", 401


class Forbidden(Refusal):
    slug, title, status = "forbidden", "You are not allowed to do this", 403


class PasswordChangeRequired(Refusal):
    slug, title, status = "password-change-required", "Choose a new password first", 403


class CrossSite(Refusal):
    slug, title, status = "cross-site", "The request does not come from the console", 403


class NotFound(Refusal):
    slug, title, status = "not-found", "Not found", 404


class Conflict(Refusal):
    slug, title, status = "conflict", "This conflicts with what exists", 409


class Stale(Refusal):
    slug, title, status = "stale", "Someone else changed this in the meantime", 412


class TooLarge(Refusal):
    slug, title, status = "too-large", "The request is too large", 413


class UnknownType(Refusal):
    slug, title, status = "unknown-type", "The content type is not supported", 415


class PreconditionMissing(Refusal):
    slug, title, status = "if-match-missing", "The If-Match header is missing", 428


class TooMany(Refusal):
    slug, title, status = "too-many-tries", "Too many requests", 429


class Unavailable(Refusal):
    slug, title, status = "unavailable", "Not available right now", 503
