"""What settings are made of: how values are read, and how one that cannot be used is refused."""

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

HOST_NAME = re.compile(
    r"(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*", re.IGNORECASE
)


def _refuse_bool(value: object) -> object:
    # Pydantic reads true as 1; in a file `port = true` is a mistake, not a port.
    if isinstance(value, bool):
        raise PydanticCustomError("not_a_number", "it is a boolean, not a number")
    return value


def _split_commas(value: object) -> object:
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


WholeNumber = Annotated[int, BeforeValidator(_refuse_bool)]
Names = Annotated[tuple[str, ...], BeforeValidator(_split_commas)]
OptionalPath = Annotated[Path | None, BeforeValidator(_empty_is_none)]


def setting(default: object, about: str, allowed: str, **bounds: Any) -> Any:
    return Field(default, description=about, json_schema_extra={"allowed": allowed}, **bounds)


class Group(BaseModel):
    """Settings that belong together; all groups make up the one object."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", str_strip_whitespace=True, hide_input_in_errors=True
    )


def conflict(field: str, why: str) -> PydanticCustomError:
    return PydanticCustomError("conflict", "{why}", {"why": why, "field": field})


def absolute(path: Path) -> Path:
    return Path.cwd() / path.expanduser()


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def split_url(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:
        return None
    return parts
