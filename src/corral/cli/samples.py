"""`corral samples`: what work, a machine or a GPU did over time."""

from typing import Annotated, Any

import typer
from corral_sdk import Client, encode
from corral_sdk.models import SampleAnswer

from corral.cli.connection import connect, instant, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, print_table
from corral.cli.refusals import CommandError
from corral.cli.work_names import find_workload

app = new_app()

_USUAL = ("cpu_milli", "memory_bytes", "gpu_busy_percent", "gpu_memory_mib")
_SUBJECTS = ("workload", "replica", "node", "device")


@app.command()
def samples(
    subject: Annotated[
        str,
        typer.Argument(metavar="WORK", help="Id, its beginning, or name; or node:ID, device:NODE_ID/DEVICE."),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help=f"Repeat it for several. [{', '.join(_USUAL)}]"),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From then on: 2026-11-15, 12h, 7d. [1h]")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before then. [now]")] = None,
    points: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most so many rows.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what work used over time: the mean of each stretch, the newest last."""
    client = connect()
    found = client.samples.query(
        _subject(client, subject),
        metric or _USUAL,
        since=instant(since, "--since"),
        until=instant(until, "--until"),
        points=points,
    )
    if as_json:
        print_json(encode(found))
        return
    columns, rows = _table(found)
    empty = "Nothing was measured in that time. --since looks further back."
    print_table(("When", *columns), rows, empty=empty)


def _subject(client: Client, text: str) -> str:
    kind, colon, _ = text.partition(":")
    if not colon:
        return f"workload:{find_workload(client, text)}"
    if kind not in _SUBJECTS:
        raise CommandError(
            f"{text!r} names nothing that is measured.",
            remedy="Name work, or node:ID, device:NODE_ID/DEVICE, replica:RUN.",
        )
    return text


def _table(found: SampleAnswer) -> tuple[list[str], list[list[Any]]]:
    """One row for each stretch of time, one column for each metric that has any point."""
    series = [one for one in found.items if one.points]
    values = {one.metric: {point.at: point.mean for point in one.points} for one in series}
    times = sorted({point.at for one in series for point in one.points})
    rows = [
        [shown_time(at), *("" if at not in each else f"{each[at]:,.0f}" for each in values.values())]
        for at in times
    ]
    return list(values), rows
