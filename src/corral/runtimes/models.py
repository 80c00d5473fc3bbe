"""What the API says of runtimes."""

from typing import Annotated

from pydantic import Field, StringConstraints

from corral.api.models import Id, Input, Instant, Output
from corral.inputs.models import InputName
from corral.inputs.runtimes import RuntimeState
from corral.workloads.spec import Word

Requirement = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]

BuildZone = Annotated[
    Word | None,
    Field(
        description="Zone to build it in, by name or id: work with the runtime runs there. "
        "Left out: the first one.",
        examples=["local"],
    ),
]


class NewRuntime(Input):
    name: InputName = Field(description="What work will call it.", examples=["vision"])
    requirements: list[Requirement] | None = Field(
        None,
        max_length=500,
        description="Lines of a requirements file; left out for one that is known by its name.",
        examples=[["numpy>=2", "scikit-learn"]],
    )
    build: bool = Field(True, description="Build it at once.")
    organisation_id: Id | None = Field(None, description="Whose share the build uses; as for other work.")
    zone: BuildZone = None


class RuntimeBuild(Input):
    zone: BuildZone = None


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
    zone: str | None = Field(description="The zone in which it is built; null before that.")
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
