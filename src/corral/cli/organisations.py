"""`corral org`: the organisation tree."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from corral_sdk import UNCHANGED, encode
from corral_sdk.models import Organisation

from corral.cli.connection import ask_name, connect, shown_time
from corral.cli.frame import Json, Yes, new_app, require_change
from corral.cli.names import find_organisation, organisation_paths
from corral.cli.output import print_facts, print_json, print_tree, say

app = new_app(help="Manage the organisation tree.")

_Organisation = Annotated[str, typer.Argument(metavar="ORG", help="Id, name or path (University/Physics).")]


@app.command("list")
def list_organisations(as_json: Json = False) -> None:
    """List the organisations you can see, as a tree."""
    organisations = list(connect().organisations.list())
    if as_json:
        print_json(encode(organisations))
    else:
        print_tree(_branches(organisations))


def _branches(organisations: Sequence[Organisation]) -> list[dict[str, Any]]:
    nodes: dict[str, dict[str, Any]] = {
        each.id: {"label": f"{each.name}  {_people(each.people_count)}  {each.id}", "children": []}
        for each in organisations
    }
    roots: list[dict[str, Any]] = []
    for each in organisations:
        above = nodes.get(each.parent_id or "")
        (above["children"] if above else roots).append(nodes[each.id])
    return roots


def _people(count: int) -> str:
    return "1 person" if count == 1 else f"{count} people"


@app.command()
def show(organisation: _Organisation, as_json: Json = False) -> None:
    """Show one organisation."""
    client = connect()
    found = find_organisation(client, organisation)
    if as_json:
        print_json(encode(found))
        return
    every = list(client.organisations.list())
    below = [each.name for each in every if each.parent_id == found.id]
    print_facts(
        {
            "Name": found.name,
            "Id": found.id,
            "Path": organisation_paths(every).get(found.id),
            "People": str(found.people_count),
            "Below it": ", ".join(below),
            "Created": shown_time(found.created_at),
        }
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new organisation.")],
    parent: Annotated[
        str | None, typer.Option(metavar="ORG", help="Create it under this one. [the top]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create an organisation."""
    client = connect()
    above = find_organisation(client, parent)
    made = client.organisations.create(above.id, name)
    if as_json:
        print_json(encode(made))
    else:
        say(f"Created {made.name} under {above.name} ({made.id}).")


@app.command()
def edit(
    organisation: _Organisation,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="ORG", help="Move it, with everything below it, under this one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Rename an organisation, or move it."""
    require_change(name, parent, options="--name, --parent")
    client = connect()
    found = find_organisation(client, organisation)
    above = find_organisation(client, parent) if parent is not None else None
    changed = client.organisations.update(
        found.id,
        name=UNCHANGED if name is None else name,
        parent_id=UNCHANGED if above is None else above.id,
        generation=found.generation,
    )
    if as_json:
        print_json(encode(changed))
        return
    if name is not None:
        say(f"Renamed {found.name} to {changed.name}.")
    if above is not None:
        say(f"Moved {changed.name} under {above.name}.")


@app.command()
def delete(organisation: _Organisation, yes: Yes = False, as_json: Json = False) -> None:
    """Delete an empty organisation."""
    client = connect()
    found = find_organisation(client, organisation)
    ask_name("the organisation", found.name, yes)
    client.organisations.delete(found.id, generation=found.generation)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted {found.name}.")
