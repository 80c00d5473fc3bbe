"""`corral audit`: who did what, on what, when."""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from corral_sdk import Client, encode

from corral.cli.connection import connect, instant, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_organisation, find_user
from corral.cli.objects import find_object
from corral.cli.output import bytes_output, note, print_facts, print_json, print_table, say
from corral.cli.refusals import CommandError
from corral.cli.visible import json_text

app = new_app(help="Search and export the audit log.")

_User = Annotated[str | None, typer.Option(metavar="USER", help="Who did it: name, display name or id.")]
_Action = Annotated[list[str] | None, typer.Option(metavar="ACTION", help="What was done; repeatable.")]
_Object = Annotated[
    str | None,
    typer.Option(
        "--object",
        metavar="OBJECT",
        help="What it was done to: id, name, or KIND:NAME (user:lin, pool:default).",
    ),
]
_Org = Annotated[str | None, typer.Option(metavar="ORG", help="Only this organisation and below.")]
_Result = Annotated[str | None, typer.Option(metavar="RESULT", help="done or refused.")]
_Since = Annotated[str | None, typer.Option(metavar="TIME", help="From then on: 2026-11-15, 12h, 7d.")]
_Until = Annotated[str | None, typer.Option(metavar="TIME", help="Before then: 2026-11-15, 12h, 7d.")]


def _filters(
    client: Client,
    user: str | None,
    action: list[str] | None,
    object_id: str | None,
    org: str | None,
    result: str | None,
    since: str | None,
    until: str | None,
) -> dict[str, Any]:
    return {
        "actor": find_user(client, user).id if user else None,
        "action": action,
        "object": find_object(client, object_id) if object_id else None,
        "organisation": find_organisation(client, org).id if org else None,
        "result": result,
        "since": instant(since, "--since"),
        "until": instant(until, "--until"),
    }


@app.command("list")
def list_entries(
    user: _User = None,
    action: _Action = None,
    object_id: _Object = None,
    org: _Org = None,
    result: _Result = None,
    since: _Since = None,
    until: _Until = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most, newest first.")] = 50,
    as_json: Json = False,
) -> None:
    """Search the audit log, newest first. All filters have to match."""
    client = connect()
    found = client.audit.list(**_filters(client, user, action, object_id, org, result, since, until))
    entries = list(islice(found, limit))
    if as_json:
        print_json(encode(entries))
        return
    rows = (
        (
            shown_time(each.at),
            each.actor_name or "nobody",
            each.action,
            f"{each.object_kind} {each.object_name}".strip(),
            each.result,
            each.address,
            each.id,
        )
        for each in entries
    )
    columns = ("When", "Who", "Action", "On", "Result", "From", "Id")
    print_table(columns, rows, empty="No entry matches.")
    if len(entries) == limit:
        note(f"These are the newest {limit}. For more: --limit, or corral audit export.")


@app.command()
def show(
    entry: Annotated[str, typer.Argument(metavar="ID", help="Id of the entry.")], as_json: Json = False
) -> None:
    """Show one entry, with what it changed."""
    found = connect().audit.get(entry)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "When": found.at.astimezone().isoformat(timespec="milliseconds"),
            "Who": f"{found.actor_name or 'nobody'} {found.actor_id}".strip(),
            "Signed in with": found.via,
            "Action": found.action,
            "On": f"{found.object_kind} {found.object_name} {found.object_id}",
            "Organisation": found.organisation_id,
            "Result": found.result,
            "Reason": found.reason,
            "From": found.address,
            "Request": found.request_id,
        }
    )
    changes = list(_changes(found.before or {}, found.after or {}))
    if changes:
        say("")
        print_table(("Field", "Before", "After"), changes, empty="")


def _changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Field by field what was and what is; what stayed the same is left out."""
    keys = dict.fromkeys([*before, *after])
    return [
        (key, _value(before.get(key)), _value(after.get(key)))
        for key in keys
        if before.get(key) != after.get(key)
    ]


def _value(value: object) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else json_text(value, indent=None)


@app.command()
def actions(as_json: Json = False) -> None:
    """List the actions that the log records."""
    every = connect().audit.actions()
    if as_json:
        print_json(encode(every))
        return
    print_table(("Action", "What it is"), ((each.key, each.description) for each in every), empty="None.")


@app.command()
def export(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")
    ] = "-",
    format_: Annotated[str, typer.Option("--format", metavar="FORMAT", help="csv or jsonl.")] = "jsonl",
    user: _User = None,
    action: _Action = None,
    object_id: _Object = None,
    org: _Org = None,
    result: _Result = None,
    since: _Since = None,
    until: _Until = None,
    as_json: Json = False,
) -> None:
    """Export all matching entries. The log records the export, too."""
    client = connect()
    filters = _filters(client, user, action, object_id, org, result, since, until)
    if output == "-":
        client.audit.export(bytes_output(), format=format_, **filters)
        return
    path = Path(output).expanduser()
    try:
        with path.open("xb") as file:
            written = client.audit.export(file, format=format_, **filters)
    except FileExistsError:
        raise CommandError(
            f"{path} exists already.", remedy="Choose another name, or move it away."
        ) from None
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from None
    if as_json:
        print_json({"file": str(path), "bytes": written})
    else:
        say(f"Wrote {written} bytes to {path}.")
