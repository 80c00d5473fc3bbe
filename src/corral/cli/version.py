"""`corral version`."""

import platform

from corral import __version__
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say

app = new_app()


@app.command()
def version(as_json: Json = False) -> None:
    """Show the versions of Corral and Python."""
    if as_json:
        print_json({"corral": __version__, "python": platform.python_version()})
    else:
        say(f"corral {__version__} (Python {platform.python_version()})")
