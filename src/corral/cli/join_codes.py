"""`corral user join-code`: codes with seats, for the blackboard."""

from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import Until, connect, hours_until, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_organisation, find_role, one_of
from corral.cli.output import print_json, print_table, say

# Shown to those who may give its role.
HIDDEN = "(hidden)"

app = new_app(help="Manage join codes: one code, many seats.")


@app.command()
def create(
    seats: Annotated[int, typer.Option(help="How many people may use it.")],
    until: Until = None,
    org: Annotated[
        str | None, typer.Option(metavar="ORG", help="Organisation people join. [the top]")
    ] = None,
    role: Annotated[str, typer.Option(metavar="ROLE", help="Role people get.")] = "user",
    as_json: Json = False,
) -> None:
    """Create a join code."""
    client = connect()
    organisation = find_organisation(client, org)
    made = client.join_codes.create(
        organisation_id=organisation.id,
        role_id=find_role(client, role, organisation).id,
        seats=seats,
        expires_in_hours=hours_until(until),
    )
    if as_json:
        print_json(encode(made))
        return
    say(made.code or made.id)
    say(f"{made.seats} seats in {made.organisation_name}, until {shown_time(made.expires_at)}.")
    if made.notice:
        say(made.notice)
    say(f"People open {client.endpoint.url}/join and type the code.")


@app.command("list")
def list_codes(as_json: Json = False) -> None:
    """List join codes."""
    codes = list(connect().join_codes.list())
    if as_json:
        print_json(encode(codes))
        return
    rows = (
        (
            each.code or HIDDEN,
            each.organisation_name,
            each.role_name,
            f"{each.seats_taken} of {each.seats}",
            shown_time(each.expires_at),
            each.id,
        )
        for each in codes
    )
    columns = ("Code", "Organisation", "Role", "Seats taken", "Until", "Id")
    print_table(
        columns, rows, empty="There are no join codes. Create one: corral user join-code create --seats 40"
    )


@app.command()
def delete(code: Annotated[str, typer.Argument(help="The code, or its id.")], as_json: Json = False) -> None:
    """Delete a join code. People who joined with it stay."""
    client = connect()
    found = one_of(client.join_codes.list(), "join code", code, lambda each: (each.id, each.code or each.id))
    client.join_codes.revoke(found.id)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted the join code {found.code or found.id}.")
