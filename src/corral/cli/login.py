"""`corral login`: name and password once, a token from then on."""

import platform
import sys
from pathlib import Path
from typing import Annotated

import typer
from corral_sdk import (
    NotConfiguredError,
    Problem,
    SavedLogin,
    SignedIn,
    encode,
    find_endpoint,
    save_login,
    sign_in,
)
from corral_sdk.models import CreatedToken

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say, warn
from corral.cli.refusals import CommandError, explain

app = new_app()

TRIES = 3


@app.command()
def login(
    url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the Corral.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="Your sign-in name.")] = None,
    ca_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Certificate of the private CA that signed Corral's certificate."),
    ] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    link: Annotated[
        bool, typer.Option("--link", help="Print a one-time login link for the console instead.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Sign in to a Corral and save a token on this machine.

    On the machine where you started Corral you need no sign-in; --link opens its console.
    """
    if link:
        _print_link(as_json)
        return
    address, trusted = _where(url, ca_file)
    user_name = name or typer.prompt("Name", err=True)
    if password_stdin:
        signed_in = sign_in(address, user_name, sys.stdin.readline().rstrip("\n"), ca_file=trusted)
    else:
        signed_in = _ask_password(address, user_name, trusted)
    with signed_in:
        if signed_in.session.must_change_password:
            _choose_password(signed_in, password_stdin)
        created = signed_in.tokens.create(f"corral login on {platform.node()}")
        path = _save(signed_in, address, created, trusted)
    user = signed_in.session.user
    if as_json:
        print_json({"url": address, "user": encode(user), "token": encode(created.token), "saved": str(path)})
        return
    say(f"Signed in to {address} as {user.name} ({user.display_name}).")
    say(f"The token is kept in {path} and ends on {shown_time(created.token.expires_at)}.")


def _where(url: str | None, ca_file: Path | None) -> tuple[str, str | None]:
    """The address, and the certificates to trust there beside the machine's own."""
    try:
        endpoint = find_endpoint(url)
    except NotConfiguredError:
        if url:
            raise
        raise CommandError(
            "Which Corral to sign in to is unknown.", remedy="Give one: corral login --url https://…"
        ) from None
    trusted = str(ca_file) if ca_file else endpoint.ca_file
    # It is kept with the login, which is used from other directories, too.
    return endpoint.url, str(Path(trusted).expanduser().absolute()) if trusted else None


def _ask_password(address: str, name: str, ca_file: str | None) -> SignedIn:
    for last in (False,) * (TRIES - 1) + (True,):
        password = typer.prompt("Password", hide_input=True, err=True)
        try:
            return sign_in(address, name, password, ca_file=ca_file)
        except Problem as problem:
            if last or problem.kind != "login-failed":
                raise
            explain(problem, as_json=False)
    raise AssertionError("unreachable: the last try returns or raises")


def _choose_password(signed_in: SignedIn, from_stdin: bool) -> None:
    if from_stdin:
        raise CommandError(
            "A new password has to be chosen first.",
            remedy="Sign in once without --password-stdin, or in the console.",
        )
    warn("Before you go on, choose a new password of your own.")
    while True:
        password = typer.prompt(
            "New password", hide_input=True, confirmation_prompt="New password again", err=True
        )
        try:
            signed_in.me.change_password(password)
        except Problem as problem:
            if problem.status != 422:
                raise
            explain(problem, as_json=False)
        else:
            return


def _save(signed_in: SignedIn, address: str, created: CreatedToken, ca_file: str | None) -> Path:
    user = signed_in.session.user
    try:
        return save_login(SavedLogin(address, user.name, created.token.id, created.secret, ca_file))
    except OSError as error:
        # A token that nobody has must not stay valid.
        signed_in.tokens.revoke(created.token.id)
        raise CommandError(
            f"The sign-in cannot be saved: {error.strerror}.",
            f"{error.filename}" if error.filename else "",
            "Make it writable for you, or set XDG_CONFIG_HOME to a folder that is.",
        ) from None


def _print_link(as_json: bool) -> None:
    client = connect()
    made = client.users.login_link(client.me.get().id)
    if as_json:
        print_json(encode(made))
        return
    say(made.url)
    say(f"It opens the console once, until {shown_time(made.expires_at)}.")
