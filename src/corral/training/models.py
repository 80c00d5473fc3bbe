"""What the API says of what training work will execute."""

from pydantic import Field

from corral.api.models import Output


class ReplicaPreview(Output):
    number: int
    environment: dict[str, str]


class Preview(Output):
    """What every replica will execute."""

    command: list[str]
    environment: dict[str, str] = Field(description="The same for all replicas; secrets are masked.")
    replicas: list[ReplicaPreview] = Field(description="What differs from one replica to the next.")
    set_at_start: list[str] = Field(description="Variables whose values are known only where it runs.")
