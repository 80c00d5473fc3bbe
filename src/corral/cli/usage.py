"""`corral usage`: who used how much."""

from typing import Annotated, Any

import typer
from corral_sdk import Client, encode
from corral_sdk.models import UsageSum

from corral.cli.connection import connect, instant, shown_time
from corral.cli.frame import Group, Json, new_app
from corral.cli.names import find_organisation, find_user, is_id
from corral.cli.output import bytes_output, note, print_json, print_table
from corral.cli.queue_changes import find_queue
from corral.cli.work_names import find_workload

app = new_app(
    help="Show GPU, CPU and memory use by person or organisation.",
    cls=Group,
    invoke_without_command=True,
    no_args_is_help=False,
)

# What people count in, and how many amount-seconds make one of it.
_UNITS = {
    "gpu_milli": ("GPU-hours", 1000 * 3600),
    "cpu_milli": ("core-hours", 1000 * 3600),
    "memory_mib": ("GiB-hours", 1024 * 3600),
}


@app.callback()
def show_usage(
    ctx: typer.Context,
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="This person: name, display name or id.")
    ] = None,
    org: Annotated[str | None, typer.Option(metavar="ORG", help="This organisation and below.")] = None,
    queue: Annotated[str | None, typer.Option(metavar="QUEUE", help="ORG, ORG@USER or id.")] = None,
    workload: Annotated[
        str | None, typer.Option(metavar="WORK", help="Name, id or the beginning of an id.")
    ] = None,
    everyone: Annotated[bool, typer.Option("--everyone", help="Everyone whose usage you may see.")] = False,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From then on: 2026-11-15, 12h, 7d. [30 days]")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before then. [now]")] = None,
    per: Annotated[str, typer.Option(metavar="PERIOD", help="total, day or hour (UTC).")] = "total",
    by: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="all, user, organisation, queue, workload, zone, pool, flavor, kind, model, mode or "
            "preemptible.",
        ),
    ] = "all",
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV for spreadsheets.")] = False,
    as_json: Json = False,
) -> None:
    """Show usage: yours, unless --user, --org, --queue, --workload or --everyone says otherwise."""
    if ctx.invoked_subcommand is not None:
        return
    client = connect()
    whose: dict[str, Any] = {
        "user": find_user(client, user).id if user else None,
        "organisation": find_organisation(client, org).id if org else None,
        "queue": _queue_id(client, queue) if queue else None,
        "workload": find_workload(client, workload) if workload else None,
    }
    if not everyone and not any(whose.values()):
        whose["user"] = client.me.get().id
    asked = whose | {"since": instant(since, "--since"), "until": instant(until, "--until")}
    asked |= {"per": per, "by": by}
    if as_csv:
        client.usage.export(bytes_output(), **asked)
        return
    sums = client.usage.sums(**asked)
    if as_json:
        print_json(encode(sums))
        return
    columns = [*(["Since"] if per != "total" else []), *([by.capitalize()] if by != "all" else [])]
    rows = [
        [
            *([shown_time(each.since)] if per != "total" else []),
            *([each.owner_name or each.owner] if by != "all" else []),
            *_amount(each),
            each.outcome,
        ]
        for each in sums.items
    ]
    empty = "Nothing was used in that time. For more: --since 90d, --everyone."
    print_table([*columns, "Amount", "Unit", "Model", "Outcome"], rows, empty=empty)
    if any(each.outcome == "lost" for each in sums.items):
        note("lost: work that an eviction undid; it is charged to nobody.")


@app.command("records")
def list_records(
    after: Annotated[
        int, typer.Option(min=0, metavar="SEQUENCE", help="What was posted after this one; 0: everything.")
    ] = 0,
    user: Annotated[
        str | None, typer.Option(metavar="USER", help="This person: name, display name or id.")
    ] = None,
    org: Annotated[str | None, typer.Option(metavar="ORG", help="This organisation and below.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 200,
    as_json: Json = False,
) -> None:
    """Read the ledger in the order in which it was posted. Come back with --after for what is new."""
    client = connect()
    page = client.usage.records(
        after,
        limit=limit,
        user=find_user(client, user).id if user else None,
        organisation=find_organisation(client, org).id if org else None,
    )
    if as_json:
        print_json(encode(page))
        return
    rows = (
        (
            str(each.sequence),
            shown_time(each.posted_at),
            each.allocation_id,
            each.pool_name or "",
            each.resource,
            each.model,
            str(each.amount),
            f"{each.duration_us / 1_000_000:,.3f}",
            each.outcome,
        )
        for each in page.items
    )
    columns = (
        "Sequence",
        "Posted",
        "Allocation",
        "Pool",
        "Resource",
        "Model",
        "Amount",
        "Seconds",
        "Outcome",
    )
    print_table(columns, rows, empty="Nothing was posted after that.")
    note(f"{'There is more' if page.more else 'Read on later'}: --after {page.next_after}")


def _queue_id(client: Client, text: str) -> str:
    return text if is_id(text, "q") else find_queue(client, client.queues.read(), text).id


def _amount(one: UsageSum) -> tuple[str, str, str]:
    unit, seconds = _UNITS.get(one.resource, (f"{one.resource}-hours", 3600))
    return f"{one.amount_seconds / seconds:,.2f}", unit, one.model
