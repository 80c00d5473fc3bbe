"""The command's own name for what the API calls a field: `body.resources.cpu_milli` is --cpu."""

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["shown_field"]

# Fields whose option is not called after them.
_CALLED = {
    "command": "command",
    "count": "gpu",
    "duration": "simulate",
    "environment": "env",
    "expires_in_hours": "hours",
    "fraction": "gpu",
    "least_strength": "strength",
    "models": "gpu_model",
    "object": "object_id",
    "organisation": "org",
    "profile": "gpu",
    "public_key": "file",
    "simulation": "simulate",
    "unit_gpu": "unit",
}
_UNITS = re.compile(r"_(milli|mib|seconds|ids?|at)$")


def shown_field(field: str, parameters: Sequence[Any]) -> str:
    """The option or argument that sets the field; without one, the field in words."""
    place, _, path = field.partition(".")
    steps = [step for step in path.split(".") if step and not step.isdigit() and step[0] != "["]
    by_name = {each.name: each for each in parameters}
    if place == "path":
        arguments = [each for each in parameters if each.param_type_name == "argument"]
        if arguments:
            return _shown(arguments[0])
    for step in reversed(steps):
        for name in _names(step):
            if name in by_name:
                return _shown(by_name[name])
    return (steps[-1] if steps else field).replace("_", " ")


def _names(step: str) -> list[str]:
    """The names that a parameter for it may have, the likeliest first."""
    bare = _UNITS.sub("", step)
    found = [step, bare]
    found += [_CALLED[each] for each in (step, bare) if each in _CALLED]
    found += [each.removesuffix("s") for each in found]
    return found + [each.removeprefix("gpu_") for each in found] + [f"{each}_" for each in found]


def _shown(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar or parameter.name.upper()).strip("[]…")
    return str(max(parameter.opts, key=len))
