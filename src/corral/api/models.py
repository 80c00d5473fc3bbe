"""Building blocks of the API's models: strict input, cleaned text, instants in UTC."""

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
)

from corral.core.ids import PATTERN
from corral.core.text import clean_name, has_control_characters


class Output(BaseModel):
    """What the API answers."""

    model_config = ConfigDict(frozen=True)


class Input(BaseModel):
    """What the API takes: unknown fields are named and refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _without_control_characters(text: str) -> str:
    if has_control_characters(text):
        raise ValueError("it has control characters or invisible marks")
    return text


def _cleaned(value: Any) -> Any:
    return clean_name(value) if isinstance(value, str) else value


def _storable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("it has a NUL character")
    return text


def _in_utc(at: datetime) -> datetime:
    return at.astimezone(UTC)


Name = Annotated[
    str,
    BeforeValidator(_cleaned, json_schema_input_type=str),
    StringConstraints(min_length=1, max_length=120),
    AfterValidator(_without_control_characters),
]
Text = Annotated[str, StringConstraints(max_length=400), AfterValidator(_without_control_characters)]
Search = Annotated[str, StringConstraints(min_length=1, max_length=100), AfterValidator(_storable)]
_MAIL = r"^[^@\s,;<>\"()\[\]\\\x00-\x20\x7f]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,187}[A-Za-z0-9])?$"
Mail = Annotated[
    str,
    StringConstraints(strip_whitespace=True, max_length=254, pattern=_MAIL),
    Field(examples=["mei@example.org"]),
]
Secret = Annotated[str, StringConstraints(min_length=1, max_length=256), AfterValidator(_storable)]
Id = Annotated[str, StringConstraints(pattern=f"^{PATTERN}$"), Field(examples=["o01k9x3v7qzt8m2c4w6d0ef"])]
Instant = Annotated[
    AwareDatetime,
    Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9999, 1, 1, tzinfo=UTC)),
    AfterValidator(_in_utc),
]


def id_of(kind: str) -> Any:
    return Annotated[str, StringConstraints(pattern=f"^{kind}{PATTERN[5:]}$")]
