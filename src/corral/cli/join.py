"""`corral join`: this machine becomes another host of a Corral that runs already."""

import os
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.database_errors import explained
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError
from corral.server.joining import Bundle, JoinError, check_bundle, read_bundle, write_home
from corral.server.settings import Settings
from corral.server.settings_sources import load_settings

app = new_app()


@app.command()
def join(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What corral host bundle wrote there.")],
    home: Annotated[str | None, typer.Option(metavar="DIRECTORY", help="Data directory.")] = None,
    as_json: Json = False,
) -> None:
    """Make this machine another host of a Corral that runs on PostgreSQL.

    Where the database has another address from here, set CORRAL_DATABASE_URL.
    """
    settings = load_settings({"home": home} if home else {}, os.environ).settings
    os.umask(0o077)
    try:
        bundle = read_bundle(file.expanduser())
        if given := os.environ.get("CORRAL_DATABASE_URL"):
            bundle = Bundle(bundle.keys, given)
        joined = Settings(home=settings.home, database_url=bundle.database_url)
        with explained(joined):
            check_bundle(bundle, joined.database_url_resolved)
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_home(settings.home, bundle)
    except JoinError as error:
        raise CommandError(str(error), remedy=error.remedy) from None
    if as_json:
        print_json({"home": str(settings.home)})
        return
    say(f"{settings.home} has the keys and the database now.")
    say("Start this host: corral up. Its machine becomes a zone of its own.")
    say(f"Delete {file}: it opens the database.")
