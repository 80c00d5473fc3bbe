"""`corral host`: the machines on which this Corral runs."""

import os
from pathlib import Path
from typing import Annotated

import typer
from corral_sdk import Client, encode
from corral_sdk.models import Host

from corral.cli.connection import ask_name, connect, shown_time
from corral.cli.frame import Json, Yes, new_app
from corral.cli.names import one_of
from corral.cli.output import print_json, print_table, say
from corral.cli.refusals import CommandError

app = new_app(help="Manage hosts: machines that run Corral on one PostgreSQL.")


@app.command("list")
def list_hosts(as_json: Json = False) -> None:
    """List the hosts: where others reach each, which zones it drives, and when it last reported."""
    client = connect()
    hosts = list(client.hosts.list())
    if as_json:
        print_json(encode(hosts))
        return
    zones = list(client.zones.list())
    rows = (
        (
            one.name,
            one.state,
            one.url or "none",
            ", ".join(zone.name for zone in zones if zone.driven_by == one.name) or "nothing",
            shown_time(one.started_at),
            shown_time(one.seen_at),
            one.version,
            one.id,
        )
        for one in hosts
    )
    columns = ("Name", "State", "Address", "Drives", "Since", "Last seen", "Version", "Id")
    print_table(columns, rows, empty="There is no host.")


@app.command()
def bundle(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="New file to write.")],
    home: Annotated[str | None, typer.Option(metavar="DIRECTORY", help="Data directory.")] = None,
    config: Annotated[Path | None, typer.Option(metavar="FILE", help="Settings file.")] = None,
    as_json: Json = False,
) -> None:
    """Write what another machine needs to join: the keys and the address of the database.

    Run it on a host, carry the file to the new machine, and run corral join there.
    """
    from corral.server.joining import JoinError, write_bundle
    from corral.server.settings_sources import load_settings

    settings = load_settings({"home": home} if home else {}, os.environ, config).settings
    try:
        write_bundle(settings.home, settings.database_url, file.expanduser())
    except JoinError as error:
        raise CommandError(str(error), remedy=error.remedy) from None
    if as_json:
        print_json({"file": str(file)})
        return
    say(f"Wrote {file}. It opens the database: carry it over a safe way (scp), and delete it afterwards.")
    say(f"On the new machine: corral join {file.name}")


@app.command()
def delete(
    host: Annotated[str, typer.Argument(metavar="HOST", help="Name or id of the host.")],
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Forget a host that does not come back. Its zone and its work stay as they are."""
    client = connect()
    found = _find(client, host)
    ask_name("the host", found.name, yes)
    client.hosts.delete(found.id)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Forgot the host {found.name}.")


def _find(client: Client, text: str) -> Host:
    return one_of(client.hosts.list(), "host", text, lambda one: (one.name, one.id))
