"""`corral zone`: the places that run work."""

from typing import Annotated

import typer
from corral_sdk import encode
from corral_sdk.models import Zone

from corral.cli.connection import ask_name, connect, shown_time
from corral.cli.frame import Json, Yes, new_app
from corral.cli.names import find_zone
from corral.cli.output import print_facts, print_json, print_table, say

app = new_app(help="Manage zones: machines, clusters and simulations that run work.")

_Zone = Annotated[str, typer.Argument(metavar="ZONE", help="Name or id of the zone.")]


@app.command("list")
def list_zones(as_json: Json = False) -> None:
    """List the zones, the host that drives each, and since when."""
    zones = list(connect().zones.list())
    if as_json:
        print_json(encode(zones))
        return
    rows = (
        (
            each.name,
            each.kind,
            each.state,
            each.driven_by or "nobody",
            shown_time(each.since),
            each.nodes_count,
            each.id,
        )
        for each in zones
    )
    print_table(
        ("Name", "Kind", "State", "Driven by", "Since", "Nodes", "Id"), rows, empty="There is no zone."
    )


@app.command()
def show(zone: _Zone, as_json: Json = False) -> None:
    """Show one zone."""
    found = find_zone(connect(), zone)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "Name": found.name,
            "Id": found.id,
            "Kind": found.kind,
            "State": found.state,
            "Driven by": found.driven_by or "nobody",
            "Since": shown_time(found.since),
            "Last driven by": None if found.driven_by else found.last_driven_by,
            "Identity": found.identity,
            "Simulates": found.nodes,
            "Nodes": str(found.nodes_count),
            "Pools": str(found.pools_count),
            "Created": shown_time(found.created_at),
        }
    )


@app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the new zone.")],
    simulated: Annotated[
        str,
        typer.Option(
            metavar="NODES",
            help="Nodes x GPUs x model, such as 4x8xH100-80GB; more groups after a comma.",
        ),
    ],
    as_json: Json = False,
) -> None:
    """Add a simulated zone: its nodes schedule and meter work, and compute nothing.

    A machine becomes a zone by itself when Corral starts on it.
    """
    made = connect().zones.add(name, nodes=simulated)
    if as_json:
        print_json(encode(made))
    else:
        say(f"Added the simulated zone {made.name} ({made.id}).")
        say(f"Try it: corral run --zone {made.name} --gpu 1 --simulate 60s --detach")


@app.command()
def delete(zone: _Zone, yes: Yes = False, as_json: Json = False) -> None:
    """Delete a simulated zone in which no work is left."""
    client = connect()
    found: Zone = find_zone(client, zone)
    ask_name("the zone", found.name, yes)
    client.zones.delete(found.id)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted the zone {found.name}.")
