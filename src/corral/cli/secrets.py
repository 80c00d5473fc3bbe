"""`corral secret`: values that work gets as variables and that are never shown again."""

import sys
from typing import Annotated

import typer
from corral_sdk import Client, encode

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, print_table, say
from corral.cli.refusals import CommandError

app = new_app(help="Manage secrets for your work.")

Name = Annotated[str, typer.Argument(help="Name of the secret.")]


@app.command("list")
def list_secrets(as_json: Json = False) -> None:
    """List your secrets. Their values are never shown."""
    secrets = list(connect().secrets.list())
    if as_json:
        print_json(encode(secrets))
        return
    rows = ((each.name, shown_time(each.created_at), shown_time(each.changed_at)) for each in secrets)
    empty = "You have no secrets. Create one: corral secret create NAME"
    print_table(("Name", "Created", "Changed"), rows, empty=empty)


@app.command()
def create(name: Name, as_json: Json = False) -> None:
    """Create a secret. Type its value, or pipe it to standard input."""
    client = connect()
    if _exists(client, name):
        raise CommandError(
            f"You already have a secret {name!r}.", remedy=f"Change it: corral secret edit {name}"
        )
    _store(client, name, as_json=as_json)


@app.command()
def edit(name: Name, as_json: Json = False) -> None:
    """Replace the value of a secret. Type it, or pipe it to standard input."""
    client = connect()
    if not _exists(client, name):
        raise CommandError(f"You have no secret {name!r}.", remedy=f"Create it: corral secret create {name}")
    _store(client, name, as_json=as_json)


@app.command()
def delete(name: Name, as_json: Json = False) -> None:
    """Delete a secret. New work that asks for it is refused."""
    connect().secrets.delete(name)
    if as_json:
        print_json({"name": name})
    else:
        say(f"Deleted the secret {name}.")


def _exists(client: Client, name: str) -> bool:
    return any(each.name == name for each in client.secrets.list())


def _store(client: Client, name: str, *, as_json: bool) -> None:
    if sys.stdin.isatty():
        value = typer.prompt(f"Value of {name}", hide_input=True)
    else:
        value = sys.stdin.read().removesuffix("\n")
    secret = client.secrets.set(name, value)
    if as_json:
        print_json(encode(secret))
    else:
        say(f"Saved the secret {name}. Work that starts from now on gets it.")
