"""What every command module shares: how an app is made, and the options that mean the same everywhere."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["App", "Group", "Json", "Yes", "confirm", "new_app", "require_change"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]


def _refuse(error: Exception, ctx: Any, parameters: Any) -> typer.Exit | None:
    from corral.cli.refusals import explain

    if not explain(error, as_json=bool(ctx.params.get("as_json")), parameters=parameters):
        return None
    return typer.Exit(getattr(error, "code", 1))


class Command(TyperCommand):
    """A command that prints its own refusals, as JSON if JSON was asked for."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            if (refusal := _refuse(error, ctx, self.params)) is None:
                raise
            raise refusal from None


class Group(TyperGroup):
    """A command with commands below it, for a callback that does something by itself."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            if (refusal := _refuse(error, ctx, self.params)) is None:
                raise
            raise refusal from None


class App(typer.Typer):
    """Makes such commands."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": Command, **options})


def confirm(question: str, sure: bool) -> None:
    """Goes on after a yes, or with --yes; else says that nothing was changed."""
    if not sure and not typer.confirm(question, err=True):
        from corral.cli.refusals import CommandError

        raise CommandError("Nothing was changed.")


def require_change(*values: object, options: str) -> None:
    """Refuses an edit that changes nothing."""
    if all(value is None or value == [] for value in values):
        from corral.cli.refusals import CommandError

        raise CommandError("There is nothing to change.", remedy=f"Give at least one of {options}.")


def new_app(**options: Any) -> App:
    """A Typer app with plain help and our habits; a module's own app is reached through `corral.cli.main`."""
    options.setdefault("add_completion", options.get("name") == "corral")
    options.setdefault("no_args_is_help", True)
    return App(
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        **options,
    )
