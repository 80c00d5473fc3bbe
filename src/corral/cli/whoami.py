"""`corral whoami`."""

from corral_sdk import encode

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import organisation_paths
from corral.cli.output import print_facts, print_json

app = new_app()


@app.command()
def whoami(as_json: Json = False) -> None:
    """Show who you are, where, and what you may do."""
    client = connect()
    session = client.session.get()
    if as_json:
        shown = {**encode(session), "url": client.endpoint.url, "found_in": client.endpoint.source}
        shown.pop("csrf_token")
        print_json(shown)
        return
    user = session.user
    paths = organisation_paths(list(client.organisations.list()))
    roles = [f"{role.role_name} on {role.organisation_name}" for role in user.roles]
    print_facts(
        {
            "Name": f"{user.name} ({user.display_name})",
            "Id": user.id,
            "Mail": user.mail,
            "Corral": client.endpoint.url,
            "Signed in by": f"{session.via} from {client.endpoint.source}",
            "Until": shown_time(session.expires_at),
            "Priority": user.priority,
            "Roles": "\n".join(roles),
        }
        | {
            f"May on {paths.get(held.organisation_id, held.organisation_id)}": ", ".join(held.permissions)
            for held in session.permissions
        }
    )
