"""`corral node`: take a machine out of use, and into use again."""

from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.names import find_node
from corral.cli.output import print_json, say

app = new_app(help="Take a machine out of use for new work, and into use again.")

_Node = Annotated[str, typer.Argument(metavar="NODE", help="Name or id of the machine.")]


@app.command()
def cordon(node: _Node, as_json: Json = False) -> None:
    """Give it no new work. What runs there stays."""
    client = connect()
    found = find_node(client, node)
    changed = client.nodes.cordon(found.id, generation=found.generation)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{changed.name} gets no new work. What runs there stays.")


@app.command()
def uncordon(node: _Node, as_json: Json = False) -> None:
    """Take it into use again."""
    client = connect()
    found = find_node(client, node)
    changed = client.nodes.uncordon(found.id, generation=found.generation)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{changed.name} is in use again.")
