"""What the API says of uploads, secrets and what training work will execute."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints
from pydantic_core import PydanticCustomError

from corral.api.models import Id, Input, Instant, Output, storable
from corral.training.tables import NAME_LENGTH

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


SecretName = Annotated[
    str,
    StringConstraints(pattern=rf"^[A-Za-z0-9][A-Za-z0-9_.-]{{0,{NAME_LENGTH - 1}}}$"),
    Field(examples=["wandb-key"]),
]
Requirement = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
SecretValue = Annotated[
    str,
    StringConstraints(min_length=1, max_length=MOST_SECRET_LENGTH),
    AfterValidator(storable),
    AfterValidator(_few_lines),
]
RuntimeState = Literal["defined", "building", "ready", "failed"]


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


class NewRuntime(Input):
    name: SecretName = Field(description="What work will call it.", examples=["vision"])
    requirements: list[Requirement] | None = Field(
        None,
        max_length=500,
        description="Lines of a requirements file; left out for one that is known by its name.",
        examples=[["numpy>=2", "scikit-learn"]],
    )
    build: bool = Field(True, description="Build it at once.")
    organisation_id: Id | None = Field(None, description="Whose share the build uses; as for other work.")


class RuntimeUse(Output):
    """Work that is not over and was submitted with the runtime."""

    id: str
    name: str


class Runtime(Output):
    """One version of a Python environment."""

    id: str
    name: str
    version: int
    requirements: list[str]
    state: RuntimeState
    workload_id: str | None = Field(description="The work that builds or has built it.")
    created_at: Instant
    used_at: Instant
    used_by: list[RuntimeUse] = Field(description="It cannot be deleted while there is such work.")


class RuntimePreset(Output):
    """What can be made by its name alone."""

    name: str
    about: str
    requirements: list[str]


class Runtimes(Output):
    items: list[Runtime]
    presets: list[RuntimePreset]


class ReplicaPreview(Output):
    number: int
    environment: dict[str, str]


class Preview(Output):
    """What every replica will execute."""

    command: list[str]
    environment: dict[str, str] = Field(description="The same for all replicas; secrets are masked.")
    replicas: list[ReplicaPreview] = Field(description="What differs from one replica to the next.")
    set_at_start: list[str] = Field(description="Variables whose values are known only where it runs.")
