"""Turns the options of `corral run` into the document that the API takes."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corral.cli.refusals import CommandError

__all__ = [
    "check_script",
    "command_of",
    "name_of",
    "parameters_of",
    "resources_of",
    "secrets_of",
    "variables_of",
]

USUAL_CPU = "1"
USUAL_MEMORY = "2Gi"


def command_of(words: Sequence[str], *, simulated: bool = False) -> list[str]:
    """The command as it was given; a Python file alone is run with python. Simulated work needs none."""
    if not words and not simulated:
        raise CommandError("There is no command to run.", remedy="Give one: corral run train.py")
    if not words:
        return ["true"]
    if words and words[0].endswith(".py"):
        return ["python", *words]
    return [*words]


def check_script(command: Sequence[str], here: Path) -> None:
    """Refuses a script that does not go along, before anything is sent. Elsewhere than here it may exist."""
    if command[:1] != ["python"] or len(command) < 2:
        return
    script = command[1]
    if script.endswith(".py") and not Path(script).is_absolute() and not (here / script).is_file():
        raise CommandError(
            f"There is no file {script!r} in {here}.",
            remedy="Check its name, or change into its directory. With --no-upload it must exist there.",
        )


def name_of(command: Sequence[str]) -> str:
    """A name after the script, or after the program."""
    script = next((Path(word).stem for word in command if word.endswith((".py", ".sh"))), "")
    return (script or Path(command[0]).name or "work")[:80]


def resources_of(
    gpu: str | None, cpu: str | None, memory: str | None, models: Sequence[str]
) -> dict[str, Any]:
    """As it was typed: the API says what sizes mean, to the command and to the console alike."""
    needs: dict[str, Any] = {"cpu": cpu or USUAL_CPU, "memory": memory or USUAL_MEMORY}
    if gpu is not None:
        needs["gpu"] = {"amount": gpu, "models": [*models]} if models else gpu
    return needs


def variables_of(given: Sequence[str], environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """`A=b`; `A` alone takes the value that it has here."""
    environ = os.environ if environ is None else environ
    found = {}
    for text in given:
        name, is_set, value = text.partition("=")
        if not is_set and name not in environ:
            raise CommandError(
                f"--env {name}: the variable is not set here.", remedy=f"Give one: --env {name}=value."
            )
        found[name] = value if is_set else environ[name]
    return found


def secrets_of(given: Sequence[str]) -> dict[str, str]:
    """`VAR=name of the secret`; `VAR` alone is a secret of that name."""
    pairs = (text.partition("=") for text in given)
    return {name: secret if is_set else name for name, is_set, secret in pairs}


def parameters_of(given: Sequence[str]) -> dict[str, str]:
    """`lr=1e-4`: what is behind the first `=`, as it was typed. The API says what it means."""
    found = {}
    for text in given:
        name, is_set, value = text.partition("=")
        if not is_set:
            raise CommandError(f"--param {text!r} has no value.", remedy="Write --param lr=0.1.")
        found[name] = value
    return found
