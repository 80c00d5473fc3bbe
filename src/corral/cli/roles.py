"""`corral role`: roles and what they are made of."""

from typing import Annotated

import typer
from corral_sdk import UNCHANGED, encode

from corral.cli.connection import ask_name, connect, shown_time
from corral.cli.frame import Json, Yes, new_app, require_change
from corral.cli.names import find_organisation, find_role
from corral.cli.output import print_facts, print_json, print_table, say
from corral.cli.refusals import CommandError

app = new_app(help="Manage roles and their permissions.")

_Role = Annotated[str, typer.Argument(metavar="ROLE", help="Id, name or key of the role.")]


@app.command("list")
def list_roles(as_json: Json = False) -> None:
    """List the roles you can see."""
    roles = list(connect().roles.list())
    if as_json:
        print_json(encode(roles))
        return
    rows = (
        (
            each.id,
            each.name,
            each.key or "custom",
            each.organisation_name,
            each.people_count,
            len(each.permissions),
        )
        for each in roles
    )
    print_table(
        ("Id", "Name", "Kind", "Organisation", "People", "Permissions"), rows, empty="You can see no roles."
    )


@app.command()
def permissions(as_json: Json = False) -> None:
    """List all permissions."""
    every = connect().roles.permissions()
    if as_json:
        print_json(encode(every))
        return
    rows = ((each.permission, each.description) for each in every)
    print_table(("Permission", "What it allows"), rows, empty="There are no permissions.")


@app.command()
def show(role: _Role, as_json: Json = False) -> None:
    """Show one role and its permissions."""
    found = find_role(connect(), role)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "Name": found.name,
            "Id": found.id,
            "Key": found.key,
            "Organisation": found.organisation_name,
            "Description": found.description,
            "People": str(found.people_count),
            "Created": shown_time(found.created_at),
            "Permissions": "\n".join(found.permissions),
        }
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new role.")],
    permission: Annotated[
        list[str],
        typer.Option("--permission", "-p", metavar="PERMISSION", help="What it allows; repeatable."),
    ],
    org: Annotated[
        str | None, typer.Option(metavar="ORG", help="Organisation it belongs to. [the top]")
    ] = None,
    description: Annotated[str, typer.Option(help="What the role is for.")] = "",
    as_json: Json = False,
) -> None:
    """Create a role. It can allow only what you may do yourself."""
    client = connect()
    organisation = find_organisation(client, org)
    made = client.roles.create(organisation.id, name, permission, description)
    if as_json:
        print_json(encode(made))
    else:
        say(f"Created the role {made.name} on {made.organisation_name} ({made.id}).")


@app.command()
def edit(
    role: _Role,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    description: Annotated[str | None, typer.Option(help="New description.")] = None,
    add: Annotated[
        list[str] | None, typer.Option(metavar="PERMISSION", help="Permission to add; repeatable.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="PERMISSION", help="Permission to remove; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Change the name, description or permissions of a custom role."""
    require_change(name, description, add, remove, options="--name, --description, --add, --remove")
    client = connect()
    found = find_role(client, role)
    absent = set(remove or ()) - set(found.permissions)
    if absent:
        raise CommandError(
            f"{found.name} does not have {', '.join(sorted(absent))}.", remedy=f"See: corral role show {role}"
        )
    wanted = (set(found.permissions) | set(add or ())) - set(remove or ())
    changed = client.roles.update(
        found.id,
        name=UNCHANGED if name is None else name,
        description=UNCHANGED if description is None else description,
        permissions=UNCHANGED if wanted == set(found.permissions) else sorted(wanted),
        generation=found.generation,
    )
    if as_json:
        print_json(encode(changed))
    else:
        say(f"Changed the role {changed.name}: {', '.join(changed.permissions)}.")


@app.command()
def delete(role: _Role, yes: Yes = False, as_json: Json = False) -> None:
    """Delete a custom role that nobody holds."""
    client = connect()
    found = find_role(client, role)
    ask_name("the role", found.name, yes)
    client.roles.delete(found.id, generation=found.generation)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted the role {found.name}.")
