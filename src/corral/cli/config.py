"""`corral config`: the settings as this machine would use them."""

import os
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, print_table, say
from corral.server.settings import Settings
from corral.server.settings_sources import load_settings

app = new_app(help="Show the settings and where each one came from.")


@app.callback()
def config() -> None:
    """Show the settings and where each one came from."""


@app.command()
def show(
    home: Annotated[str | None, typer.Option(metavar="DIRECTORY", help="Data directory.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file.")] = None,
    as_json: Json = False,
) -> None:
    """Show every setting, its value, and where the value came from. Passwords are masked."""
    loaded = load_settings({"home": home} if home else {}, os.environ, config)
    if as_json:
        print_json(
            {
                key: {
                    "value": loaded.settings.shown(key),
                    "origin": loaded.origins[key].kind,
                    "from": loaded.origins[key].text,
                }
                for key in Settings.model_fields
            }
        )
        return
    rows = []
    for key in Settings.model_fields:
        value = loaded.settings.shown(key)
        shown = ", ".join(value) if isinstance(value, list) else value
        rows.append((key, "(empty)" if shown in (None, "") else shown, loaded.origins[key].text))
    print_table(("Setting", "Value", "From"), rows, empty="")
    say("")
    expected = loaded.settings.home / "corral.toml"
    say(f"Settings file: {loaded.file or f'none ({expected} does not exist)'}")
