"""What the API says of uploads and secrets."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from corral.api.models import Input, Instant, Output, storable
from corral.inputs.tables import NAME_LENGTH

# Through a shell's environment: the kernel takes 128 KiB for one variable.
MOST_SECRET_LENGTH = 32 * 1024

# Each line is looked for in the output by itself: a key file of the greatest length has fewer.
MOST_SECRET_LINES = 600


def _few_lines(value: str) -> str:
    if len(value.splitlines()) > MOST_SECRET_LINES:
        raise PydanticCustomError(
            "lines",
            "A secret has at most {most} lines: give a file as an upload.",
            {"most": MOST_SECRET_LINES},
        )
    return value


InputName = Annotated[
    str,
    StringConstraints(pattern=rf"^[A-Za-z0-9][A-Za-z0-9_.-]{{0,{NAME_LENGTH - 1}}}$"),
    Field(examples=["wandb-key"]),
]
SecretValue = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MOST_SECRET_LENGTH),
    AfterValidator(storable),
    AfterValidator(_few_lines),
]


class Upload(Output):
    id: str
    sha256: str
    size_bytes: int
    unpacked_bytes: int
    entries: int
    created_at: Instant


class Uploads(Output):
    items: list[Upload]


class NewSecret(Input):
    value: SecretValue = Field(description="Never shown again.")


class Secret(Output):
    """Everything of a secret but its value."""

    name: str
    created_at: Instant
    changed_at: Instant


class Secrets(Output):
    items: list[Secret]
