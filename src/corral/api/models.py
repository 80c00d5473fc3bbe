"""Building blocks of the API's models: strict input, cleaned text, instants in UTC."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
)

from corral.core.ids import PATTERN
from corral.core.refusals import Invalid
from corral.core.text import clean_name, hidden_character, name_key

LONGEST_NAME_KEY = 240


class Output(BaseModel):
    """What the API answers."""

    model_config = ConfigDict(frozen=True)


class Input(BaseModel):
    """What the API takes: unknown fields are named and refused, and so is text that cannot be stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _storable(cls, value: Any) -> Any:
        return storable(value) if isinstance(value, str) else value


class Change(Input):
    """What a PATCH takes: what is left out stays as it is."""

    def given(self, *, may_be_empty: Collection[str] = ()) -> dict[str, Any]:
        """The fields that were sent; null is refused where there must be a value."""
        fields = self.model_dump(exclude_unset=True)
        for name, value in fields.items():
            if value is None and name not in may_be_empty:
                raise Invalid.field(f"body.{name}", "It must not be empty.", "Give a value, or leave it out.")
        return fields


# As the context of a validation: what is stored was checked when it came, by the rules of its time.
STORED = {"stored": True}


def visible(text: str, info: ValidationInfo) -> str:
    """Refuses names that are read as others: with controls, bidirectional or invisible characters."""
    hidden = None if info.context == STORED else hidden_character(text)
    if hidden is not None:
        raise ValueError(f"it has {hidden}, which is invisible or changes how text is displayed")
    return text


def _comparable(text: str) -> str:
    # A few characters stand for whole words; what names are compared by must fit its column.
    if len(name_key(text)) > LONGEST_NAME_KEY:
        raise ValueError("it is too long once its characters are expanded")
    return text


def _cleaned(value: Any, info: ValidationInfo) -> Any:
    # Before space is cleaned: a line break is no space.
    return clean_name(visible(value, info)) if isinstance(value, str) else value


def storable(text: str) -> str:
    """Refuses what PostgreSQL cannot store."""
    if "\x00" in text:
        raise ValueError("it contains a NUL character")
    return text


def _in_utc(at: datetime) -> datetime:
    return at.astimezone(UTC)


Name = Annotated[
    str,
    Field(examples=["Vision Lab"]),
    BeforeValidator(_cleaned, json_schema_input_type=str),
    StringConstraints(min_length=1, max_length=120),
    AfterValidator(_comparable),
]
Text = Annotated[str, StringConstraints(max_length=400), AfterValidator(visible)]
Search = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(storable)]
_MAIL = r"^[^@\s,;<>\"()\[\]\\\x00-\x20\x7f]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,187}[A-Za-z0-9])?$"
Mail = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=254, pattern=_MAIL),
    AfterValidator(visible),
    Field(examples=["mei@example.org"]),
]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(storable)]
Id = Annotated[str, StringConstraints(pattern=f"^{PATTERN}$"), Field(examples=["o01k9x3v7qzt8m2c4w6d0ef"])]
Instant = datetime  # in answers: it comes from the database, in UTC
GivenInstant = Annotated[
    AwareDatetime,
    Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9999, 1, 1, tzinfo=UTC)),
    AfterValidator(_in_utc),
]


def is_mail(text: str) -> bool:
    """Whether `Mail` would take the text."""
    return len(text) <= 254 and re.fullmatch(_MAIL, text) is not None and hidden_character(text) is None


def id_of(kind: str) -> Any:
    return Annotated[str, StringConstraints(pattern=f"^{kind}{PATTERN[5:]}$")]
