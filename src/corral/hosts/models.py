"""What the API says of hosts."""

from typing import Literal

from pydantic import Field

from corral.api.models import Instant, Output

HostState = Literal["up", "silent"]


class Host(Output):
    """A machine on which a Corral of this database runs."""

    id: str = Field(description="The identity of its data directory, and of its zone.")
    name: str = Field(examples=["gpu-1"])
    url: str = Field(
        description="Where other hosts reach it; empty: nowhere.", examples=["https://gpu-1.example:8710"]
    )
    version: str = Field(examples=["0.1.0"])
    state: HostState = Field(description="`silent`: its Corral has not been heard of for 90 s.")
    started_at: Instant
    seen_at: Instant = Field(description="When its Corral was last heard of.")


class Hosts(Output):
    items: list[Host]
