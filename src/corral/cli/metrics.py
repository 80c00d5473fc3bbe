"""`corral metrics`: what a workload reported."""

from typing import Annotated

import typer
from corral_sdk import encode

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import note, print_json, print_table
from corral.cli.work_names import find_workload

app = new_app()


@app.command()
def metrics(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    name: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this metric; repeatable.")
    ] = None,
    points: Annotated[int, typer.Option(min=1, max=1000, help="Most points of a series, with --json.")] = 300,
    as_json: Json = False,
) -> None:
    """Show the metrics that work reported with report(): last, lowest and highest value."""
    client = connect()
    found = client.metrics.read(
        find_workload(client, workload), name=name or None, points=points if as_json else 1
    )
    if as_json:
        print_json(encode(found))
        return
    rows = (
        (
            each.name,
            each.attempt,
            each.replica,
            each.last_step,
            _value(each.last_value),
            _value(each.lowest),
            _value(each.highest),
            shown_time(each.last_at),
        )
        for each in found.items
    )
    columns = ("Metric", "Attempt", "Replica", "Step", "Last", "Lowest", "Highest", "When")
    empty = "Nothing was reported. In a program: corral_sdk.report(step=1, loss=0.5)."
    print_table(columns, rows, empty=empty)
    if found.dropped:
        note(f"{found.dropped} values were dropped: not numbers, or too many names.")


def _value(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
