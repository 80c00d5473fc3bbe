"""`corral history`: shares of queues, changes of the cluster, arrivals and run times."""

from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import connect, instant, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import note, print_json, print_table
from corral.cli.visible import json_text

app = new_app(help="Show shares of queues, changes of the cluster and arrivals over time.")

_After = Annotated[int, typer.Option(min=0, metavar="SEQUENCE", help="What was recorded after this one.")]
_Since = Annotated[str | None, typer.Option(metavar="TIME", help="From then on: 2026-11-15, 12h, 7d.")]
_Until = Annotated[str | None, typer.Option(metavar="TIME", help="Before then: 2026-11-15, 12h, 7d.")]
_Limit = Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")]


@app.command("queues")
def show_queues(
    after: _After = 0, since: _Since = None, until: _Until = None, limit: _Limit = 200, as_json: Json = False
) -> None:
    """Show what queues were entitled to, held, waited for, lent and borrowed."""
    page = connect().history.queues(
        after, limit=limit, since=instant(since, "--since"), until=instant(until, "--until")
    )
    if as_json:
        print_json(encode(page))
        return
    rows = (
        (
            shown_time(each.at),
            each.queue_id,
            each.pool_id,
            each.resource,
            *map(
                str,
                (each.guarantee, each.fair_share, each.allocated, each.wanted, each.lent, each.borrowed),
            ),
        )
        for each in page.items
    )
    columns = (
        "At",
        "Queue",
        "Pool",
        "Resource",
        "Guarantee",
        "Fair share",
        "Allocated",
        "Wanted",
        "Lent",
        "Borrowed",
    )
    print_table(columns, rows, empty="Nothing was recorded in that time.")
    _read_on(str(page.next_after) if page.more else None)


@app.command("cluster")
def show_cluster(
    after: _After = 0,
    kind: Annotated[str | None, typer.Option(metavar="KIND", help="node, pool or queue.")] = None,
    since: _Since = None,
    until: _Until = None,
    limit: _Limit = 200,
    as_json: Json = False,
) -> None:
    """Show how nodes, pools and quotas changed."""
    page = connect().history.cluster(
        after, limit=limit, kind=kind, since=instant(since, "--since"), until=instant(until, "--until")
    )
    if as_json:
        print_json(encode(page))
        return
    rows = (
        (
            shown_time(each.at),
            each.kind,
            each.object_id,
            json_text(each.before, indent=None),
            json_text(each.after, indent=None),
        )
        for each in page.items
    )
    print_table(("At", "Kind", "Id", "Before", "After"), rows, empty="Nothing changed in that time.")
    _read_on(str(page.next_after) if page.more else None)


@app.command("arrivals")
def show_arrivals(
    after: Annotated[
        str | None, typer.Option(metavar="ID", help="Id of the last workload that was read.")
    ] = None,
    since: _Since = None,
    until: _Until = None,
    limit: _Limit = 200,
    as_json: Json = False,
) -> None:
    """Show when work was submitted, started and ended, and how long it ran."""
    page = connect().history.arrivals(
        after, limit=limit, since=instant(since, "--since"), until=instant(until, "--until")
    )
    if as_json:
        print_json(encode(page))
        return
    rows = (
        (
            each.workload_id,
            each.kind,
            each.state,
            shown_time(each.submitted_at),
            shown_time(each.started_at) if each.started_at else "",
            shown_time(each.ended_at) if each.ended_at else "",
            f"{each.run_us / 1_000_000:,.1f}",
            str(each.replicas),
        )
        for each in page.items
    )
    columns = ("Work", "Kind", "State", "Submitted", "Started", "Ended", "Ran (s)", "Replicas")
    print_table(columns, rows, empty="Nothing was submitted in that time.")
    _read_on(page.next_after)


def _read_on(after: str | None) -> None:
    if after is not None:
        note(f"There may be more: --after {after}")
