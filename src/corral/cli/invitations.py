"""`corral user invitation`: a link for one person."""

from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import Until, connect, hours_until, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_organisation, find_role, is_id
from corral.cli.output import print_json, print_table, say
from corral.cli.refusals import CommandError

app = new_app(help="Manage invitations: a link for one person.")


@app.command("list")
def list_invitations(as_json: Json = False) -> None:
    """List open invitations."""
    every = list(connect().invitations.list())
    if as_json:
        print_json(encode(every))
        return
    rows = (
        (
            each.id,
            each.mail,
            each.organisation_name,
            each.role_name,
            each.invited_by,
            shown_time(each.expires_at),
        )
        for each in every
    )
    columns = ("Id", "Mail", "Organisation", "Role", "Invited by", "Expires")
    print_table(
        columns, rows, empty="There are no open invitations. Create one: corral user invitation create"
    )


@app.command()
def create(
    mail: Annotated[str | None, typer.Option(help="Also send the link to this address.")] = None,
    org: Annotated[str | None, typer.Option(metavar="ORG", help="Organisation they join. [the top]")] = None,
    role: Annotated[str, typer.Option(metavar="ROLE", help="Role they get.")] = "user",
    until: Until = None,
    as_json: Json = False,
) -> None:
    """Create an invitation and print its link. No mail server is needed."""
    client = connect()
    organisation = find_organisation(client, org)
    made = client.invitations.create(
        organisation_id=organisation.id,
        role_id=find_role(client, role, organisation).id,
        mail=mail,
        expires_in_hours=hours_until(until),
    )
    if as_json:
        print_json(encode(made))
        return
    say(f"Invitation to {organisation.name}, valid until {shown_time(made.invitation.expires_at)}:")
    say(made.url)
    if made.notice:
        say(made.notice)
    if made.invitation.mailed_at:
        say(f"Sent to {made.invitation.mail}.")
    elif made.mail_problem:
        say(f"No mail was sent: {made.mail_problem}")


@app.command()
def delete(
    invitation: Annotated[str, typer.Argument(help="Id of the invitation, or its mail address.")],
    as_json: Json = False,
) -> None:
    """Delete an invitation. Its link stops working at once."""
    client = connect()
    if not is_id(invitation, "i"):
        fitting = [each.id for each in client.invitations.list() if each.mail == invitation]
        if len(fitting) != 1:
            raise CommandError(
                f"{len(fitting)} open invitations are for {invitation!r}.",
                remedy="See: corral user invitation list",
            )
        invitation = fitting[0]
    client.invitations.revoke(invitation)
    if as_json:
        print_json({"id": invitation})
    else:
        say("Deleted the invitation.")
