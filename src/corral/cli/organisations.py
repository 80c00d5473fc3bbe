"""`corral org`: the organisation tree."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from corral_sdk import encode
from corral_sdk.models import Organisation

from corral.cli.connection import ask_name, connect, shown_time
from corral.cli.frame import Json, Yes, new_app
from corral.cli.names import find_organisation, organisation_paths
from corral.cli.output import print_facts, print_json, print_tree, say

app = new_app(help="The organisation tree: list, show, create, rename, move, delete.")

_Organisation = Annotated[str, typer.Argument(metavar="ORG", help="Id, name or path (University/Physics).")]


@app.command("list")
def list_organisations(as_json: Json = False) -> None:
    """Show the tree of organisations that you can see."""
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
        str | None, typer.Option(metavar="ORG", help="What it belongs to; the topmost one if left out.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create an organisation below another."""
    client = connect()
    above = find_organisation(client, parent)
    made = client.organisations.create(above.id, name)
    if as_json:
        print_json(encode(made))
    else:
        say(f"Created {made.name} below {above.name} ({made.id}).")


@app.command()
def rename(
    organisation: _Organisation,
    name: Annotated[str, typer.Argument(help="The new name.")],
    as_json: Json = False,
) -> None:
    """Rename an organisation."""
    client = connect()
    found = find_organisation(client, organisation)
    changed = client.organisations.update(found.id, name=name, generation=found.generation)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{found.name} is now called {changed.name}.")


@app.command()
def move(
    organisation: _Organisation,
    to: Annotated[str, typer.Option("--to", metavar="ORG", help="What it shall belong to.")],
    as_json: Json = False,
) -> None:
    """Move an organisation, with all below it."""
    client = connect()
    found = find_organisation(client, organisation)
    above = find_organisation(client, to)
    changed = client.organisations.update(found.id, parent_id=above.id, generation=found.generation)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{changed.name} now belongs to {above.name}.")


@app.command()
def delete(organisation: _Organisation, yes: Yes = False, as_json: Json = False) -> None:
    """Delete an organisation. It has to be empty."""
    client = connect()
    found = find_organisation(client, organisation)
    ask_name("the organisation", found.name, yes)
    client.organisations.delete(found.id, generation=found.generation)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted {found.name}.")
