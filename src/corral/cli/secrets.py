"""`corral secret`: values that work gets as variables and that are never shown again."""

import sys
from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, print_table, say

app = new_app(help="Secrets for your work: set, list, delete.")

Name = Annotated[str, typer.Argument(help="The name by which work asks for it.")]


@app.command("set")
def set_secret(name: Name, as_json: Json = False) -> None:
    """Give a secret its value: typed at the terminal, or read from standard input."""
    if sys.stdin.isatty():
        value = typer.prompt(f"Value of {name}", hide_input=True)
    else:
        value = sys.stdin.read().removesuffix("\n")
    secret = connect().secrets.set(name, value)
    if as_json:
        print_json(encode(secret))
    else:
        say(f"Secret {name} is set. Work that starts from now on gets it.")


@app.command("list")
def list_secrets(as_json: Json = False) -> None:
    """List your secrets. Their values are never shown."""
    secrets = list(connect().secrets.list())
    if as_json:
        print_json(encode(secrets))
        return
    rows = ((each.name, shown_time(each.created_at), shown_time(each.changed_at)) for each in secrets)
    print_table(
        ("Name", "Made", "Changed"), rows, empty="You have no secrets. Make one: corral secret set NAME"
    )


@app.command()
def delete(name: Name, as_json: Json = False) -> None:
    """Delete a secret. Work that starts later and asks for it is refused."""
    connect().secrets.delete(name)
    if as_json:
        print_json({"name": name})
    else:
        say(f"Secret {name} is deleted.")
