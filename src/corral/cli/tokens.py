"""`corral token`: personal access tokens."""

from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import connect, instant, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import one_of
from corral.cli.output import print_json, print_table, say

app = new_app(help="Manage your personal access tokens.")


@app.command("list")
def list_tokens(as_json: Json = False) -> None:
    """List your tokens. Corral does not keep their secrets."""
    tokens = list(connect().tokens.list())
    if as_json:
        print_json(encode(tokens))
        return
    rows = (
        (
            each.id,
            each.name,
            each.scopes,
            shown_time(each.expires_at),
            shown_time(each.last_used_at) or "never",
        )
        for each in tokens
    )
    print_table(
        ("Id", "Name", "Scopes", "Expires", "Last used"),
        rows,
        empty="You have no tokens. Create one: corral token create NAME",
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="What it is for.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCOPE",
            help="What it may do: a permission, or account.read to see your account (ps and top need it); "
            "repeatable. [everything you may do]",
        ),
    ] = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it expires: 30d, 2026-12-31. [90d]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Create a token and show its secret, once."""
    expires_at = instant(until, "--until", future=True)
    created = connect().tokens.create(name, scope or ["*"], expires_at)
    if as_json:
        print_json(encode(created))
        return
    say(created.secret)
    say(f"This secret is not shown again. It expires on {shown_time(created.token.expires_at)}.")


@app.command()
def delete(
    token: Annotated[str, typer.Argument(help="Id or name of the token.")], as_json: Json = False
) -> None:
    """Revoke a token at once."""
    client = connect()
    found = one_of(client.tokens.list(), "token", token, lambda each: (each.id, each.name))
    client.tokens.revoke(found.id)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Revoked the token {found.name}.")
