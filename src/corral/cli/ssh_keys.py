"""`corral ssh-key`: SSH public keys."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import one_of
from corral.cli.output import print_json, print_table, say
from corral.cli.refusals import CommandError

app = new_app(help="Manage your SSH public keys.")

_LONGEST = 20_000


@app.command("list")
def list_keys(as_json: Json = False) -> None:
    """List your SSH public keys."""
    keys = list(connect().ssh_keys.list())
    if as_json:
        print_json(encode(keys))
        return
    rows = ((each.id, each.title, each.kind, each.fingerprint, shown_time(each.created_at)) for each in keys)
    print_table(
        ("Id", "Title", "Kind", "Fingerprint", "Added"),
        rows,
        empty="You have no SSH keys. Add one: corral ssh-key create ~/.ssh/id_ed25519.pub",
    )


@app.command()
def create(
    file: Annotated[str, typer.Argument(help="Public key file, or - for standard input.")],
    title: Annotated[str | None, typer.Option(help="Name of the key. [its comment]")] = None,
    as_json: Json = False,
) -> None:
    """Add a public key to your account."""
    text = _read(file)
    words = text.split(maxsplit=2)
    named = title or (words[2].strip() if len(words) > 2 else Path(file).stem)
    key = connect().ssh_keys.add(named, text)
    if as_json:
        print_json(encode(key))
    else:
        say(f"Added {key.title} ({key.fingerprint}).")


@app.command()
def delete(
    key: Annotated[str, typer.Argument(help="Id, title or fingerprint of the key.")], as_json: Json = False
) -> None:
    """Remove a public key from your account."""
    client = connect()
    found = one_of(client.ssh_keys.list(), "key", key, lambda each: (each.id, each.title, each.fingerprint))
    client.ssh_keys.remove(found.id)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Removed {found.title}.")


def _read(file: str) -> str:
    if file == "-":
        text = sys.stdin.read(_LONGEST)
    else:
        try:
            with Path(file).expanduser().open(encoding="utf-8") as opened:
                text = opened.read(_LONGEST)
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}.") from None
    # The one mistake that must not reach the network.
    if "PRIVATE KEY" in text:
        raise CommandError(
            "This is a private key.", "It was not sent anywhere.", "Give the .pub file beside it."
        )
    return text.strip()
