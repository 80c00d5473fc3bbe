"""What every kind of workload says about itself: what it needs, how many, how important, for how long.

This is what people write. `documents` has what is made of it, which is stored.
"""

from dataclasses import asdict
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    StringConstraints,
    model_validator,
)

from corral.api.amounts import AmountsAsWritten, GpusAsWritten, from_text, read_gpus
from corral.api.models import Id, Input, storable, visible
from corral.core import quantities
from corral.workloads.documents import LARGEST, ResourceRequest
from corral.workloads.port_spec import MOST_PORTS, AnyReadiness, Ports
from corral.zones.rules import (
    LONGEST_GRACE_SECONDS,
    LONGEST_HOLD_SECONDS,
    MOST_REPLICAS,
    MOST_RETRIES,
    USUAL_GRACE_SECONDS,
)


def _no_text(value: object) -> object:
    if isinstance(value, str):
        raise ValueError("this field counts thousandths as a whole number: write it without quotes")
    return value


Millicores = Annotated[int, Field(ge=1, le=LARGEST), from_text(quantities.millicores_with_unit)]
Mebibytes = Annotated[int, Field(ge=1, le=LARGEST), from_text(quantities.mebibytes)]
Seconds = Annotated[int, Field(ge=1, le=10 * 365 * 86400), from_text(quantities.seconds)]
HoldSeconds = Annotated[int, Field(ge=0, le=LONGEST_HOLD_SECONDS), from_text(quantities.seconds)]
WorkName = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]*[^\x00-\x20\x7f][^\x00-\x1f\x7f]*$"
    ),
    AfterValidator(visible),
    Field(examples=["resnet-50"]),
]
Word = Annotated[str, StringConstraints(min_length=1, max_length=120), AfterValidator(storable)]


class Gpu(GpusAsWritten):
    """`count` whole GPUs; with a size, slices of that size on as many different ones."""

    count: int = Field(1, ge=1, le=1024)
    memory_mib: Mebibytes | None = Field(None, description="The slice's memory.", examples=[8192, "8Gi"])
    fraction_milli: Annotated[int, BeforeValidator(_no_text, json_schema_input_type=int)] | None = Field(
        None, ge=1, le=999, description="The slice as part of a GPU."
    )
    profile: Word | None = Field(None, description="A MIG profile.", examples=["1g.10gb"])
    compute_percent: int = Field(0, ge=0, le=100, description="Of a slice; 0 is unlimited.")
    models: list[Word] = Field([], max_length=20, description="Any of these; empty for all.")

    @model_validator(mode="after")
    def _one_size(self) -> Self:
        sizes = [self.memory_mib, self.fraction_milli, self.profile]
        if sum(one is not None for one in sizes) > 1:
            raise ValueError("give one of memory_mib, fraction_milli and profile")
        return self

    @property
    def is_slice(self) -> bool:
        """Part of a GPU that nothing but software divides."""
        return self.memory_mib is not None or self.fraction_milli is not None


class Resources(AmountsAsWritten):
    """What one replica needs, as people write it (`cpu: 0.5`, `memory: 4Gi`, `gpu: 2` or `gpu: 8Gi`), or in
    the unit of the field (`cpu_milli: 500`, `memory_mib: 4096`)."""

    cpu_milli: Millicores = Field(description="A number, or text with a unit.", examples=[500, "500m"])
    memory_mib: Mebibytes = Field(description="A number, or text with a unit.", examples=[4096, "4Gi"])
    gpu: Annotated[
        Gpu | None, BeforeValidator(read_gpus, json_schema_input_type=Gpu | int | float | str | None)
    ] = Field(
        None, description="2 for whole ones, 8Gi for a slice, or all there is to say.", examples=[2, "8Gi"]
    )

    @classmethod
    def of(cls, request: ResourceRequest) -> "Resources":
        """As it is shown; it was checked when it was stored."""
        gpu = None
        if request.gpu is not None:
            gpu = Gpu.model_construct(**asdict(request.gpu) | {"models": list(request.gpu.models)})
        return cls.model_construct(cpu_milli=request.cpu_milli, memory_mib=request.memory_mib, gpu=gpu)


class SimulatedUsage(Input):
    """What a simulated replica is seen to use."""

    cpu_milli: Millicores | None = Field(None, description="Left out: all that it asks for.")
    memory_mib: Mebibytes | None = Field(None, description="Left out: all that it asks for.")
    gpu_percent: int = Field(100, ge=0, le=100)
    gpu_memory_mib: Mebibytes | None = Field(None, description="Left out: all that it asks for.")


class Simulation(Input):
    """How long work in a simulated zone takes, how it ends, and what it uses meanwhile."""

    duration: Seconds = Field(description="In seconds, or with a unit.", examples=["60s"])
    exit_code: int = Field(0, ge=0, le=255)
    usage: SimulatedUsage = SimulatedUsage()


class WorkSpec(Input):
    """The part of a document that all kinds share."""

    kind: str  # each kind has its own
    version: Literal[1, 2] = Field(2, description="Of the document's form; both mean the same here.")
    name: WorkName
    organisation_id: Id | None = Field(
        None, description="Whose work it is; left out when you belong to one organisation only."
    )
    flavor: Word | None = Field(None, description="Its name or id; or give `resources`.")
    resources: Resources | None = None
    replicas: int = Field(
        1,
        ge=1,
        le=MOST_REPLICAS,
        description="They start together, or not at all; pools say how many at most.",
    )
    priority: int | None = Field(None, ge=1, le=5, description="Up to your own; left out: your own.")
    preemptible: bool = Field(
        True, description="May be suspended to give others their share; false stays within the guarantee."
    )
    zone: Word | None = Field(None, description="Its name or id; left out, Corral chooses.", examples=["lab"])
    simulation: Simulation | None = Field(
        None, description="In a simulated zone: how the work takes its course. Refused elsewhere."
    )
    pools: list[Word] = Field([], max_length=20, description="In order of preference; empty for any.")
    time_limit_seconds: Seconds | None = Field(None, examples=[7200, "2h"])
    grace_seconds: int = Field(
        USUAL_GRACE_SECONDS,
        ge=0,
        le=LONGEST_GRACE_SECONDS,
        description="Between being told to go and being ended; pools say how long at most.",
        examples=[30],
    )
    retries: int = Field(
        0,
        ge=0,
        le=MOST_RETRIES,
        description="How often it is tried again after it failed; pools say how often at most.",
    )
    hold_seconds: HoldSeconds = Field(
        0,
        description="How long its place is kept when an attempt ends for another one; pools say how long at"
        " most.",
        examples=[120, "2min"],
    )
    ports: Ports = Field(
        [],
        max_length=MOST_PORTS,
        description="On which it listens: objects, or as people write them.",
        examples=[["web=8000/http"]],
    )
    readiness: AnyReadiness | None = Field(
        None,
        description="How to find out that a replica is ready; left out, it is ready when it runs.",
        examples=["8000/healthz", "output:Listening"],
    )

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        if self.flavor is not None and self.resources is not None:
            raise ValueError("give a flavor or resources, not both")
        return self
