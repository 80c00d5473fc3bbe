"""What every command module shares: how an app is made, and the options that mean the same everywhere."""

from typing import Annotated, Any

import typer

__all__ = ["Json", "Yes", "new_app"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def new_app(**options: Any) -> typer.Typer:
    """A Typer app with plain help and our habits; a module's own app is reached through `corral.cli.main`."""
    options.setdefault("add_completion", options.get("name") == "corral")
    return typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )
