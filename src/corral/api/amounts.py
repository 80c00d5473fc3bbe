"""Amounts in requests: a whole number in the unit of its field, or text as people write it.

`core.quantities` is the only reader of the text, so that whatever sends it (the command, the console, a
document) means the same.
"""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from corral.api.models import Input
from corral.core import quantities

LARGEST = 2**31 - 1


def from_text(parse: Callable[[str], int]) -> BeforeValidator:
    """A number stays as it is, text is read by `parse`."""
    return BeforeValidator(
        lambda value: parse(value) if isinstance(value, str) else value, json_schema_input_type=int | str
    )


Cores = Annotated[
    int,
    Field(ge=1, le=LARGEST),
    BeforeValidator(lambda value: quantities.millicores(quantities.written(value))),
]
Memory = Annotated[
    int,
    Field(ge=1, le=LARGEST),
    BeforeValidator(lambda value: quantities.mebibytes(quantities.written(value))),
]


class _ShortNames(Input):
    """The short names, which take cores and sizes as people write them."""

    cpu: Cores | None = None
    memory: Memory | None = None


_SHORT = {"cpu": "cpu_milli", "memory": "memory_mib"}
_SHORT_SCHEMA = {
    "cpu": {
        "anyOf": [{"type": "number"}, {"type": "string"}],
        "description": "In cores, instead of `cpu_milli`; quoted or not is the same.",
        "examples": [0.5, "500m"],
    },
    "memory": {
        "type": "string",
        "description": "With its unit, instead of `memory_mib`.",
        "examples": ["4Gi"],
    },
}


class AmountsAsWritten(Input):
    """Has `cpu_milli` and `memory_mib`, and takes `cpu` and `memory` instead."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        described = handler(core_schema)
        if handler.mode == "validation":
            schema = handler.resolve_ref_schema(described)
            schema["properties"] = _SHORT_SCHEMA | schema["properties"]
            schema["required"] = [name for name in schema.get("required", []) if name not in _SHORT.values()]
        return described

    @model_validator(mode="before")
    @classmethod
    def _from_short_names(cls, value: Any) -> Any:
        if not isinstance(value, dict) or not _SHORT.keys() & value.keys():
            return value
        for short, long in _SHORT.items():
            if short in value and long in value:
                raise ValueError(f"give {short} or {long}, not both")
        found = _ShortNames.model_validate({name: value[name] for name in _SHORT if name in value})
        known = {_SHORT[name]: getattr(found, name) for name in _SHORT if getattr(found, name) is not None}
        return {name: one for name, one in value.items() if name not in _SHORT} | known


_SIZES = ("count", "memory_mib", "fraction_milli", "profile")


class GpusAsWritten(Input):
    """Has a count and sizes, and takes an `amount` instead."""

    amount: str | None = Field(
        None,
        exclude=True,
        max_length=40,
        description="As people write it, instead of the count and the sizes.",
        examples=["2", "8Gi", "2x0.5", "1g.10gb"],
    )

    @model_validator(mode="before")
    @classmethod
    def _from_amount(cls, value: Any) -> Any:
        if not isinstance(value, dict) or value.get("amount") is None:
            return value
        if any(value.get(name) is not None for name in _SIZES):
            raise ValueError("give the amount, or count and size, not both")
        found = quantities.gpus(quantities.written(value["amount"]))
        if found is None:
            raise ValueError("no GPU is asked for: leave out gpu")
        kept = {name: one for name, one in value.items() if name not in {"amount", *_SIZES}}
        return kept | asdict(found)


def read_gpus(value: object) -> object:
    """A number or a text instead of the object."""
    if value is None or isinstance(value, dict | GpusAsWritten):
        return value
    found = quantities.gpus(quantities.written(value))
    return None if found is None else asdict(found)
