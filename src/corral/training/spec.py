"""What a person gives along with training work."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints, model_validator

from corral.api.models import Id, storable
from corral.workloads.spec import Word, WorkSpec

VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]{0,99}$"
Variable = Annotated[str, StringConstraints(pattern=VARIABLE), Field(examples=["EPOCHS"])]
Value = Annotated[str, StringConstraints(max_length=8192), AfterValidator(storable)]
Argument = Annotated[str, StringConstraints(max_length=8192), AfterValidator(storable)]


def parameter_text(value: object) -> str:
    """A parameter as the command line has it. Text stays as it was typed: nobody else interprets it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise ValueError("a parameter is text, a number or true or false")


Parameter = Annotated[
    str,
    StringConstraints(max_length=8192),
    BeforeValidator(parameter_text, json_schema_input_type=str | int | float | bool),
    AfterValidator(storable),
]
# What Corral itself sets; a person's own value would be overwritten.
RESERVED = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "LOCAL_RANK",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NODE_RANK",
        "RANK",
        "WORLD_SIZE",
    }
)


class TrainingSpec(WorkSpec):
    """Work that ends by itself: a command, run by every replica."""

    kind: Literal["training"] = "training"
    command: list[Argument] = Field(
        min_length=1,
        max_length=500,
        description="Program and arguments; a Python file is enough.",
        examples=[["python", "train.py"]],
    )
    parameters: dict[Variable, Parameter] = Field(
        {},
        max_length=200,
        description="Added to the command as `--name value`; text stays as it is written.",
        examples=[{"lr": "1e-4", "epochs": 3}],
    )
    environment: dict[Variable, Value] = Field({}, max_length=200)
    secrets: dict[Variable, Word] = Field(
        {}, max_length=50, description="Variables that get the value of the secret so named."
    )
    upload_id: Id | None = Field(None, description="The uploaded working directory.")
    home: bool = Field(False, description="Your home directory is there too, to read and write.")
    runtime: Word | None = Field(None, description="A built Python environment; left out: the system's.")
    launch: Literal["plain", "torchrun"] = Field(
        "plain",
        description="`plain` runs the command once per replica; `torchrun` once per GPU, with its rank set.",
    )
    network: bool = Field(True, description="Whether it may reach the outside through Corral's proxy.")

    @model_validator(mode="after")
    def _own_variables(self) -> Self:
        for name in (*self.environment, *self.secrets):
            if name in RESERVED or name.startswith("CORRAL_"):
                raise ValueError(f"{name} is set by Corral; choose another name")
        both = self.environment.keys() & self.secrets.keys()
        if both:
            raise ValueError(f"{min(both)} is given twice, as a variable and as a secret")
        return self
