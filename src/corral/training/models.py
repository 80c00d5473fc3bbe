"""What the API says of uploads, secrets and what training work will execute."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from corral.api.models import Input, Instant, Output, storable
from corral.training.tables import NAME_LENGTH

# Through a shell's environment: the kernel takes 128 KiB for one variable.
MOST_SECRET_LENGTH = 32 * 1024

SecretName = Annotated[
    str,
    StringConstraints(pattern=rf"^[A-Za-z0-9][A-Za-z0-9_.-]{{0,{NAME_LENGTH - 1}}}$"),
    Field(examples=["wandb-key"]),
]
SecretValue = Annotated[
    str, StringConstraints(min_length=1, max_length=MOST_SECRET_LENGTH), AfterValidator(storable)
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


class ReplicaPreview(Output):
    number: int
    environment: dict[str, str]


class Preview(Output):
    """What every replica will execute."""

    command: list[str]
    environment: dict[str, str] = Field(description="The same for all replicas; secrets are masked.")
    replicas: list[ReplicaPreview] = Field(description="What differs from one replica to the next.")
    set_at_start: list[str] = Field(description="Variables whose values are known only where it runs.")
