"""`corral user`: people, the roles they hold, and the ways in."""

from pathlib import Path
from typing import Annotated

import typer
from corral_sdk import UNCHANGED, encode
from corral_sdk.models import ImportResult, User

from corral.cli import invitations, join_codes
from corral.cli.connection import ask_name, connect, instant, shown_time
from corral.cli.frame import Json, Yes, new_app, require_change
from corral.cli.names import find_organisation, find_role, find_user
from corral.cli.output import print_facts, print_json, print_table, say
from corral.cli.refusals import CommandError

app = new_app(help="Manage people, their roles, invitations and join codes.")
app.add_typer(invitations.app, name="invitation")
app.add_typer(join_codes.app, name="join-code")

_User = Annotated[str, typer.Argument(metavar="USER", help="Id, name or display name.")]
_Role = Annotated[str, typer.Option("--role", metavar="ROLE", help="Id, name or key of the role.")]
_Org = Annotated[str | None, typer.Option("--org", metavar="ORG", help="Name, path or id. [the top]")]


@app.command("list")
def list_users(
    org: Annotated[str | None, typer.Option(metavar="ORG", help="Only this organisation and below.")] = None,
    role: Annotated[str | None, typer.Option(metavar="ROLE", help="Only people with this role.")] = None,
    state: Annotated[str | None, typer.Option(metavar="STATE", help="active, disabled or pending.")] = None,
    search: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Part of name, display name or mail.")
    ] = None,
    sort: Annotated[
        str | None, typer.Option(metavar="FIELD", help="Sort by this field; -FIELD for descending.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List people."""
    client = connect()
    people = list(
        client.users.list(
            organisation=find_organisation(client, org).id if org else None,
            role=find_role(client, role).id if role else None,
            state=state,
            search=search,
            sort=sort,
        )
    )
    if as_json:
        print_json(encode(people))
        return
    rows = (
        (
            each.name,
            each.display_name,
            each.state,
            [place.name for place in each.organisations],
            [held.role_name for held in each.roles],
            each.priority,
            shown_time(each.last_seen_at) or "never",
        )
        for each in people
    )
    columns = ("Name", "Display name", "State", "Organisations", "Roles", "Priority", "Last seen")
    print_table(
        columns,
        rows,
        empty="Nobody matches. Bring people in: corral user create, corral user invitation create",
    )


@app.command()
def show(user: _User, as_json: Json = False) -> None:
    """Show one person."""
    found = find_user(connect(), user)
    if as_json:
        print_json(encode(found))
        return
    roles = [
        f"{held.role_name} on {held.organisation_name}"
        + (f" until {shown_time(held.expires_at)}" if held.expires_at else "")
        for held in found.roles
    ]
    print_facts(
        {
            "Name": found.name,
            "Display name": found.display_name,
            "Id": found.id,
            "State": found.state,
            "Mail": found.mail,
            "Priority": str(found.priority),
            "Organisations": ", ".join(place.name for place in found.organisations),
            "Roles": "\n".join(roles),
            "Created": shown_time(found.created_at),
            "Last seen": shown_time(found.last_seen_at) or "never",
        }
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Sign-in name: lower-case letters, digits, . _ -")],
    display_name: Annotated[str | None, typer.Option(help="Full name. [NAME]")] = None,
    mail: Annotated[str | None, typer.Option(help="Mail address.")] = None,
    org: _Org = None,
    role: _Role = "user",
    priority: Annotated[int, typer.Option(help="1 to 5; 5 is the highest.")] = 1,
    as_json: Json = False,
) -> None:
    """Create an account and print a one-time login link, with which its owner sets a password."""
    client = connect()
    organisation = find_organisation(client, org)
    made = client.users.create(
        name,
        display_name or name,
        mail=mail,
        organisation_id=organisation.id,
        role_id=find_role(client, role, organisation).id,
        priority=priority,
    )
    if as_json:
        print_json(encode(made))
        return
    say(f"Created {made.user.name} in {organisation.name}.")
    if made.notice:
        say(made.notice)
    say(f"Login link, valid until {shown_time(made.login_link.expires_at)}:")
    say(made.login_link.url)


@app.command("import")
def import_people(
    file: Annotated[Path, typer.Argument(help="CSV with a header: name, display_name, mail, priority.")],
    org: _Org = None,
    role: _Role = "user",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Create accounts from a CSV file."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{file} cannot be read: {error}.", remedy="It has to be CSV in UTF-8.") from None
    client = connect()
    organisation = find_organisation(client, org)
    role_id = find_role(client, role, organisation).id
    result = client.users.import_csv(text, organisation_id=organisation.id, role_id=role_id, dry_run=dry_run)
    if as_json:
        print_json(encode(result))
    else:
        _print_import(result, organisation.name)
    if result.errors:
        raise typer.Exit(1)


def _print_import(result: ImportResult, organisation: str) -> None:
    rows = (
        (
            row.line,
            row.name,
            row.display_name,
            row.result,
            "; ".join(row.problems) or (row.login_link.url if row.login_link else ""),
        )
        for row in result.rows
    )
    print_table(
        ("Line", "Name", "Display name", "Result", "Login link or problem"), rows, empty="No people in it."
    )
    problems = f"{result.errors} with problems."
    if result.dry_run:
        would = f"{result.created} would be created, {result.added} added to {organisation}"
        say(f"Dry run, nothing was changed: {would}, {problems}")
    else:
        say(f"{result.created} created, {result.added} added to {organisation}, {problems}")
    if result.notice:
        say(result.notice)


def _change_state(user: str, state: str, said: str, as_json: bool) -> None:
    client = connect()
    found = find_user(client, user)
    _answer(client.users.update(found.id, state=state, generation=found.generation), said, as_json)


def _answer(user: User, said: str, as_json: bool) -> None:
    if as_json:
        print_json(encode(user))
    else:
        say(said.format(name=user.name))


@app.command()
def enable(user: _User, as_json: Json = False) -> None:
    """Enable an account, or approve one that signed up."""
    _change_state(user, "active", "{name} can sign in.", as_json)


@app.command()
def disable(user: _User, as_json: Json = False) -> None:
    """Disable an account: sessions end and tokens stop working at once. Nothing is deleted."""
    _change_state(user, "disabled", "{name} can no longer sign in; sessions and tokens have ended.", as_json)


@app.command()
def edit(
    user: _User,
    display_name: Annotated[str | None, typer.Option(help="New display name.")] = None,
    mail: Annotated[str | None, typer.Option(help="New mail address; empty for none.")] = None,
    priority: Annotated[int | None, typer.Option(help="1 to 5; 5 is the highest.")] = None,
    as_json: Json = False,
) -> None:
    """Change someone's display name, mail address or priority."""
    require_change(display_name, mail, priority, options="--display-name, --mail, --priority")
    client = connect()
    found = find_user(client, user)
    changed = client.users.update(
        found.id,
        display_name=UNCHANGED if display_name is None else display_name,
        mail=UNCHANGED if mail is None else mail or None,
        priority=UNCHANGED if priority is None else priority,
        generation=found.generation,
    )
    _answer(changed, "Changed {name}.", as_json)


@app.command()
def delete(user: _User, yes: Yes = False, as_json: Json = False) -> None:
    """Delete someone's account. Usage and the audit log keep their name.

    Their work has to be over. To keep someone out for a while: corral user disable.
    """
    client = connect()
    found = find_user(client, user)
    ask_name("the account", found.name, yes)
    client.users.delete(found.id, generation=found.generation)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted {found.name}.")


@app.command()
def grant(
    user: _User,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="Id, name or key of the role.")],
    org: _Org = None,
    until: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it ends: 30d, 2026-12-31. [never, or with yours]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Give someone a role in an organisation and everything below it."""
    client = connect()
    found, organisation = find_user(client, user), find_organisation(client, org)
    wanted = find_role(client, role, organisation)
    changed = client.grants.create(
        found.id,
        role_id=wanted.id,
        organisation_id=organisation.id,
        expires_at=instant(until, "--until", future=True),
    )
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{found.name} is now {wanted.name} on {organisation.name}.")
        if changed.notice:
            say(changed.notice)


@app.command()
def revoke(
    user: _User,
    role: Annotated[
        str, typer.Argument(metavar="ROLE", help="Id, name or key of the role, or id of the grant.")
    ],
    org: Annotated[
        str | None, typer.Option(metavar="ORG", help="Where, if they have it in several organisations.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Take a role from someone."""
    client = connect()
    found = find_user(client, user)
    where = find_organisation(client, org).id if org else None
    held = [
        each
        for each in found.roles
        if role in (each.grant_id, each.role_id, each.role_key, each.role_name)
        and where in (None, each.organisation_id)
    ]
    if len(held) != 1:
        listed = "".join(
            f"\n    {each.grant_id}  {each.role_name} on {each.organisation_name}" for each in found.roles
        )
        problem = "holds it more than once" if held else "does not hold it"
        raise CommandError(f"{found.name} {problem}. Roles of {found.name}:{listed or ' none'}")
    client.grants.revoke(found.id, held[0].grant_id)
    if as_json:
        print_json(encode(held[0]))
    else:
        say(f"{found.name} is no longer {held[0].role_name} on {held[0].organisation_name}.")


@app.command("login-link")
def login_link(user: _User, as_json: Json = False) -> None:
    """Create a one-time login link for someone."""
    client = connect()
    made = client.users.login_link(find_user(client, user).id)
    if as_json:
        print_json(encode(made))
        return
    say(made.url)
    say(f"It works once and expires on {shown_time(made.expires_at)}.")


@app.command("sign-out")
def sign_out(user: _User, as_json: Json = False) -> None:
    """End all login sessions of a person."""
    client = connect()
    found = find_user(client, user)
    ended = client.users.revoke_sessions(found.id)
    if as_json:
        print_json({"id": found.id, "name": found.name, "revoked": ended})
    else:
        say(f"{ended} sessions of {found.name} have ended.")
