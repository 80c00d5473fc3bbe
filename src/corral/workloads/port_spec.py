"""What people write about the ports on which work listens, and how Corral finds out that it is ready.

Both have a short form, which the API alone reads: `web=8000/http` for a port; `8000`, `web/healthz` or
`output:Listening` for readiness.
"""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from corral.api.models import Input, storable
from corral.core.refusals import Invalid

MOST_PORTS = 16
LAST_PORT = 65535
# Inside every run Corral's proxy listens there; it would make any work look ready.
PROXY_PORT = 3128
PORT_NAME = r"^[a-z]([a-z0-9-]{0,13}[a-z0-9])?$"

PortName = Annotated[str, StringConstraints(pattern=PORT_NAME), Field(examples=["web"])]


def _not_the_proxy(number: int) -> int:
    if number == PROXY_PORT:
        raise ValueError(f"port {PROXY_PORT} is that of Corral's proxy; listen on another one")
    return number


PortNumber = Annotated[int, Field(ge=1, le=LAST_PORT), AfterValidator(_not_the_proxy)]


def _number_or_name(port: int | str) -> int | str:
    """One check for both, so that a refusal names the field and not the alternative."""
    if isinstance(port, str):
        if not re.fullmatch(PORT_NAME, port):
            raise ValueError("give the number of a port, or the name of one of ports")
        return port
    if not 1 <= port <= LAST_PORT:
        raise ValueError(f"ports have numbers from 1 to {LAST_PORT}")
    return _not_the_proxy(port)


Path = Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=512), Field(examples=["/healthz"])]
Line = Annotated[
    str,
    StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$"),
    AfterValidator(storable),
]
_PORT_TEXT = re.compile(r"(?:(?P<name>[^=/]+)=)?(?P<number>[0-9]{1,5})(?:/(?P<protocol>[a-z]+))?")
_READINESS_TEXT = re.compile(r"(?P<port>[a-z0-9-]{1,15})(?P<path>/.*)?")
_OUTPUT = "output:"


def _port(value: object) -> object:
    """A number or a text instead of the object."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    found = _PORT_TEXT.fullmatch(str(value).strip())
    if found is None:
        raise ValueError("write a port as 8000, web=8000 or web=8000/http")
    number = int(found["number"])
    return {
        "name": found["name"] or f"port-{number}",
        "number": number,
        "protocol": found["protocol"] or "tcp",
    }


def _readiness(value: object) -> object:
    """A number or a text instead of the object."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    text = str(value).strip()
    if text.startswith(_OUTPUT):
        return {"output": text.removeprefix(_OUTPUT).strip()}
    found = _READINESS_TEXT.fullmatch(text)
    if found is None:
        raise ValueError("write readiness as 8000, 8000/healthz or output:TEXT")
    return {"port": int(found["port"]) if found["port"].isdigit() else found["port"], "path": found["path"]}


class Port(Input):
    """A port on which the work listens, inside its own network."""

    name: PortName
    number: PortNumber = Field(examples=[8000])
    protocol: Literal["tcp", "http"] = Field("tcp", description="What is spoken there.")


class Readiness(Input):
    """Ready while the port accepts connections; with a path, while a GET of it is answered with a status from
    200 to 399; or once a line of output contains a text."""

    port: Annotated[int | str, AfterValidator(_number_or_name)] | None = Field(
        None, description="Its number, or the name of one of `ports`."
    )
    path: Path | None = None
    output: Line | None = Field(None, examples=["Listening on"])

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.port is None) == (self.output is None):
            raise ValueError("give a port or output")
        if self.path is not None and self.port is None:
            raise ValueError("a path needs a port")
        return self


def _each_once(ports: list[Port]) -> list[Port]:
    for what in ("name", "number"):
        seen: set[Any] = set()
        for port in ports:
            value = getattr(port, what)
            if value in seen:
                raise ValueError(f"two ports have the {what} {value}")
            seen.add(value)
    return ports


AnyPort = Annotated[Port, BeforeValidator(_port, json_schema_input_type=Port | int | str)]
AnyReadiness = Annotated[Readiness, BeforeValidator(_readiness, json_schema_input_type=Readiness | int | str)]
Ports = Annotated[list[AnyPort], AfterValidator(_each_once)]


def with_number(readiness: Readiness, ports: list[Port]) -> Readiness:
    """With the number of the port that it names."""
    if not isinstance(readiness.port, str):
        return readiness
    numbers = {port.name: port.number for port in ports}
    if readiness.port not in numbers:
        remedy = f"Use one of: {', '.join(numbers)}; or its number." if numbers else "Give its number."
        raise Invalid.field("body.readiness.port", f"No port is called {readiness.port}.", remedy)
    return readiness.model_copy(update={"port": numbers[readiness.port]})
