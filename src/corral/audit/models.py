"""What the audit log takes and answers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator
from pydantic_core import to_json
from sqlalchemy import Row

from corral.api.models import GivenInstant, Input, Output
from corral.api.pages import MOST, Page
from corral.audit.actions import ACTIONS
from corral.audit.search import Filters
from corral.core.ids import PATTERN, Kind

_A_USER = "u01k9x3v7qzt8m2c4w6d0ef"
_AN_ORGANISATION = "o01k9x3v7qzt8m2c4w6d0eg"
_MOST_ACTIONS = 20


def _id_of(kind: Kind) -> StringConstraints:
    return StringConstraints(pattern=f"^{kind}{PATTERN.removeprefix('[a-z]')}$")


UserId = Annotated[str, _id_of(Kind.USER)]
OrganisationId = Annotated[str, _id_of(Kind.ORGANISATION)]
EntryId = Annotated[str, _id_of(Kind.AUDIT)]


class AuditEntry(Output):
    """Who did what to what, from where, and how it ended."""

    id: str = Field(description="Sorts by time.", examples=["a01k9x3v7qzt8m2c4w6d0eh"])
    at: datetime = Field(description="When, in UTC.", examples=["2026-11-15T08:30:00.125000Z"])
    actor_id: str = Field(
        description="The user; empty for Corral itself and for visitors.", examples=[_A_USER]
    )
    actor_name: str = Field(description="The user's name at that time.", examples=["mei"])
    via: str = Field(
        description="How they were signed in: session, token, local or system; after a colon, which one.",
        examples=["session:s01k9x3v7qzt8m2c4w6d0ek"],
    )
    action: str = Field(description="One of `GET /audit/actions`.", examples=["user.change"])
    object_kind: str = Field(description="The kind of object.", examples=["user"])
    object_id: str = Field(examples=["u01k9x3v7qzt8m2c4w6d0em"])
    object_name: str = Field(description="Its name at that time.", examples=["lin"])
    organisation_id: str = Field(description="The organisation it belonged to.", examples=[_AN_ORGANISATION])
    result: Literal["done", "refused"] = Field(examples=["done"])
    reason: str | None = Field(description="Why it was refused.", examples=[None])
    before: dict[str, Any] | None = Field(
        description="The values that changed, as they were; secrets masked.", examples=[{"priority": 1}]
    )
    after: dict[str, Any] | None = Field(
        description="The same values afterwards; secrets masked.", examples=[{"priority": 3}]
    )
    address: str = Field(description="Where the request came from.", examples=["192.0.2.17"])
    request_id: str = Field(
        description="The request's id in the server's log.", examples=["5f0c2b7e9d1a4c66"]
    )


class AuditAction(Output):
    key: str = Field(examples=["user.change"])
    description: str = Field(examples=["Changed a person's details, priority or state"])


class AuditActions(Output):
    items: list[AuditAction]


AuditPage = Page[AuditEntry]


_FIELDS = tuple(AuditEntry.model_fields)


def fields_of(row: Row[Any]) -> dict[str, Any]:
    """What an entry shows, from a row of `corral.audit.search`."""
    return dict(zip(_FIELDS, row, strict=False))


def entry_of(row: Row[Any]) -> AuditEntry:
    return AuditEntry.model_validate(fields_of(row))


def page_json(rows: Sequence[Row[Any]], limit: int) -> bytes:
    """An `AuditPage` written straight from rows: building models of them takes three times as long."""
    items = [fields_of(row) for row in rows[:limit]]
    return to_json({"items": items, "next_cursor": items[-1]["id"] if len(rows) > limit else None})


def _known(action: str) -> str:
    if action not in ACTIONS:
        raise ValueError("there is no such action; GET /audit/actions lists them")
    return action


Action = Annotated[str, StringConstraints(max_length=60), AfterValidator(_known)]


class AuditFilters(Input):
    """All filters must match."""

    actor: UserId | None = Field(None, description="Id of the user who did it.", examples=[_A_USER])
    action: list[Action] = Field(
        default_factory=list,
        max_length=_MOST_ACTIONS,
        description="One of `GET /audit/actions`; repeat it for any of several.",
        examples=[["user.change"]],
    )
    object: Annotated[str, StringConstraints(pattern=r"^[a-z0-9_.-]{1,23}$")] | None = Field(
        None, description="Id of the object.", examples=["u01k9x3v7qzt8m2c4w6d0em"]
    )
    organisation: OrganisationId | None = Field(
        None, description="Id of an organisation: it and everything below.", examples=[_AN_ORGANISATION]
    )
    result: Literal["done", "refused"] | None = Field(None, description="The result.", examples=["refused"])
    since: GivenInstant | None = Field(
        None, description="From this time on, to the millisecond.", examples=["2026-11-01T00:00:00Z"]
    )
    until: GivenInstant | None = Field(
        None, description="Before this time, to the millisecond.", examples=["2026-12-01T00:00:00Z"]
    )

    @field_validator("until")
    @classmethod
    def _after_since(cls, until: datetime | None, info: ValidationInfo) -> datetime | None:
        since = info.data.get("since")
        if since and until and since >= until:
            raise ValueError("it is not after since")
        return until

    def filters(self) -> Filters:
        return Filters(
            actor_id=self.actor,
            actions=tuple(self.action),
            object_id=self.object,
            organisation_id=self.organisation,
            result=self.result,
            since=self.since,
            until=self.until,
        )


class AuditQuery(AuditFilters):
    limit: int = Field(50, ge=1, le=MOST, description="How many items at most.")
    cursor: EntryId | None = Field(
        None, description="`next_cursor` of the previous page; leave it out for the first."
    )


class ExportQuery(AuditFilters):
    format: Literal["csv", "jsonl"] = Field(
        description="csv for spreadsheets, jsonl (one JSON object per line) for programs.", examples=["csv"]
    )
