"""`corral samples`: what work, a node or a GPU used over time."""

from collections.abc import Callable
from typing import Annotated, Any

import typer
from corral_sdk import Client, encode
from corral_sdk.models import SampleAnswer

from corral.cli.connection import connect, instant, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_node, one_of
from corral.cli.output import print_json, print_table
from corral.cli.refusals import CommandError
from corral.cli.work_names import find_workload
from corral.cli.work_words import rate_words, size_words

app = new_app()

_USUAL = ("cpu_milli", "memory_bytes", "gpu_busy_percent", "gpu_memory_mib")
_SUBJECTS = ("workload", "replica", "node", "device")
_MIB = 1024 * 1024


def _bytes(value: float) -> str:
    return size_words(round(value / _MIB))


# A metric's heading, and its value as people read it.
_SHOWN: dict[str, tuple[str, Callable[[float], str]]] = {
    "cpu_milli": ("Cores", lambda value: f"{value / 1000:.2f}"),
    "memory_bytes": ("Memory", _bytes),
    "disk_bytes": ("Disk", _bytes),
    "read_bytes_per_second": ("Read", rate_words),
    "written_bytes_per_second": ("Written", rate_words),
    "received_bytes_per_second": ("Received", rate_words),
    "sent_bytes_per_second": ("Sent", rate_words),
    "gpu_busy_percent": ("GPU busy", lambda value: f"{value:.0f} %"),
    "gpu_memory_mib": ("GPU memory", lambda value: size_words(round(value))),
    "temperature_celsius": ("Temperature", lambda value: f"{value:.0f} °C"),
    "power_milliwatts": ("Power", lambda value: f"{value / 1000:.0f} W"),
}


@app.command()
def samples(
    subject: Annotated[
        str,
        typer.Argument(metavar="WORK", help="Name or id of work; or node:NODE, device:NODE/DEVICE."),
    ],
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="METRIC", help=f"Repeatable. [{', '.join(_USUAL)}]"),
    ] = None,
    since: Annotated[
        str | None, typer.Option(metavar="TIME", help="From then on: 2026-11-15, 12h, 7d. [1h]")
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Before then. [now]")] = None,
    points: Annotated[int, typer.Option(min=1, max=1000, metavar="N", help="At most N rows.")] = 20,
    as_json: Json = False,
) -> None:
    """Show CPU, memory and GPU use over time: the mean of each interval, newest last."""
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
    print_table(("When", *columns), rows, empty="Nothing was measured then. Look further back with --since.")


def _subject(client: Client, text: str) -> str:
    """With names or ids, as the API's `KIND:ID`."""
    kind, colon, name = text.partition(":")
    if not colon:
        return f"workload:{find_workload(client, text)}"
    if kind == "workload":
        return f"workload:{find_workload(client, name)}"
    if kind == "node":
        return f"node:{find_node(client, name).id}"
    if kind == "device":
        return f"device:{_device(client, name)}"
    if kind not in _SUBJECTS:
        raise CommandError(
            f"There are no samples of {text!r}.",
            remedy="Name work, or node:NODE, device:NODE/DEVICE, replica:RUN.",
        )
    return text


def _device(client: Client, text: str) -> str:
    """A node and one of its devices, each by name, number or id."""
    place, slash, name = text.partition("/")
    if not slash:
        raise CommandError(f"device:{text} names no device.", remedy="Write device:NODE/DEVICE.")
    node = find_node(client, place)
    found = one_of(node.devices, "device", name, lambda each: (each.id, str(each.index)))
    return f"{node.id}/{found.id}"


def _table(found: SampleAnswer) -> tuple[list[str], list[list[Any]]]:
    """One row for each interval, one column for each metric that has any point."""
    series = [one for one in found.items if one.points]
    shown = [_SHOWN.get(one.metric, (one.metric, lambda value: f"{value:,.0f}")) for one in series]
    values = [{point.at: point.mean for point in one.points} for one in series]
    times = sorted({at for each in values for at in each})
    rows = [
        [
            shown_time(at),
            *(
                "" if at not in each else words(each[at])
                for each, (_, words) in zip(values, shown, strict=True)
            ),
        ]
        for at in times
    ]
    return [heading for heading, _ in shown], rows
