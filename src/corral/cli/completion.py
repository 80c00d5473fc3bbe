"""`corral completion`."""

from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say

app = new_app()


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(help="Which shell.")],
    as_json: Json = False,
) -> None:
    """Print a shell completion script.

    Try it in bash with: source <(corral completion bash). To keep it, use: corral --install-completion.
    """
    script = get_completion_script(prog_name="corral", complete_var="_CORRAL_COMPLETE", shell=shell.value)
    if as_json:
        print_json({"shell": shell.value, "script": script})
    else:
        say(script, lines=True)
