"""`corral login`: name and password once, a token from then on."""

import platform
import sys
from typing import Annotated

import typer
from corral_sdk import NotConfiguredError, SavedLogin, SignedIn, encode, find_endpoint, save_login, sign_in

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError

app = new_app()


@app.command()
def login(
    url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the Corral.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Your name there.")] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    link: Annotated[
        bool, typer.Option("--link", help="Print a fresh one-time login link for the console instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Sign in to a Corral. A token is made for this machine and kept for you alone.

    On the machine where you started Corral you need no sign-in; --link opens its console.
    """
    if link:
        _print_link(as_json)
        return
    address = url.rstrip("/") if url else _known_address()
    user_name = name or typer.prompt("Name")
    password = (
        sys.stdin.readline().rstrip("\n") if password_stdin else typer.prompt("Password", hide_input=True)
    )
    with sign_in(address, user_name, password) as signed_in:
        if signed_in.session.must_change_password:
            _choose_password(signed_in, password_stdin)
        created = signed_in.tokens.create(f"corral login on {platform.node()}")
        user = signed_in.session.user
    path = save_login(SavedLogin(address, user.name, created.token.id, created.secret))
    if as_json:
        print_json({"url": address, "user": encode(user), "token": encode(created.token), "saved": str(path)})
        return
    say(f"Signed in to {address} as {user.name} ({user.display_name}).")
    say(f"The token is kept in {path} and ends on {shown_time(created.token.expires_at)}.")


def _known_address() -> str:
    try:
        return find_endpoint().url
    except NotConfiguredError:
        raise CommandError(
            "Which Corral to sign in to is not known.", remedy="Name it: corral login --url https://…"
        ) from None


def _choose_password(signed_in: SignedIn, from_stdin: bool) -> None:
    if from_stdin:
        raise CommandError(
            "A new password has to be chosen first.",
            remedy="Sign in once without --password-stdin, or in the console.",
        )
    say("This is your first sign-in: choose a password of your own.")
    signed_in.me.change_password(typer.prompt("New password", hide_input=True, confirmation_prompt=True))


def _print_link(as_json: bool) -> None:
    client = connect()
    made = client.users.login_link(client.me.get().id)
    if as_json:
        print_json(encode(made))
        return
    say(made.url)
    say(f"It opens the console once, until {shown_time(made.expires_at)}.")
