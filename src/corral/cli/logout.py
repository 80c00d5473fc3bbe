"""`corral logout`: the token of the saved login is revoked and forgotten."""

from typing import Annotated

import typer
from corral_sdk import Client, CorralError, forget_login, saved_logins

from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError

app = new_app()


@app.command()
def logout(
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address of the Corral. [the last one used]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Sign out and revoke the saved token."""
    logins = saved_logins()
    login = next((each for each in logins if url is None or each.url == url.rstrip("/")), None)
    if login is None:
        raise CommandError(
            "No sign-in is saved" + (f" for {url}." if url else "."), remedy="Sign in: corral login"
        )
    problem = ""
    try:
        Client(login.url, login.token, ca_file=login.ca_file).tokens.revoke(login.token_id)
    except CorralError as error:
        # Forgetting must work without the server; whoever holds a copy of the token has to know.
        problem = f"Its token could not be revoked: {error.title} {error.detail}".strip()
    forget_login(login.url)
    if as_json:
        print_json({"url": login.url, "revoked": not problem, "problem": problem or None})
    else:
        say(f"Signed out of {login.url}.")
        if problem:
            say(f"{problem} Revoke it in the console under Tokens.")
