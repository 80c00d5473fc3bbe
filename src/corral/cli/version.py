"""`corral version`."""

import json
import platform

import typer

from corral import __version__
from corral.cli.frame import Json, new_app

app = new_app()


@app.command()
def version(as_json: Json = False) -> None:
    """Show the version of Corral and of the Python that runs it."""
    if as_json:
        typer.echo(json.dumps({"corral": __version__, "python": platform.python_version()}, indent=2))
    else:
        typer.echo(f"corral {__version__} (Python {platform.python_version()})")
