"""`corral top`: what running work uses now."""

import time
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Annotated, Any

import typer
from corral_sdk import Client
from corral_sdk.models import Workload

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.output import clear_screen, note, print_json, print_table
from corral.cli.work_words import SIMULATED, rate_words, short_ids, since_words, size_words

app = new_app()

_METRICS = (
    "cpu_milli",
    "memory_bytes",
    "gpu_busy_percent",
    "gpu_memory_mib",
    "received_bytes_per_second",
    "sent_bytes_per_second",
)
_LATELY = timedelta(minutes=3)
_MOST = 50
_WATCH_SECONDS = 5.0
_MIB = 1024 * 1024


@app.command()
def top(
    everyone: Annotated[bool, typer.Option("--everyone", help="Everyone whose work you may see.")] = False,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Refresh until Ctrl-C.")] = False,
    as_json: Json = False,
) -> None:
    """Show how much of its CPU, memory and GPUs running work uses."""
    client = connect()
    whose = None if everyone else client.me.get().id
    while True:
        work = list(islice(client.workloads.list(states=("running",), user_id=whose), _MOST))
        used = [(each, _last(client, each.id)) for each in work]
        if as_json:
            print_json([{"id": each.id, "name": each.name, **now} for each, now in used])
        else:
            if watch:
                clear_screen()
            columns = (
                "Id",
                "Name",
                *(("Whose",) if everyone else ()),
                "Cores",
                "Memory",
                "GPU",
                "GPU memory",
                "In",
                "Out",
                "Runs",
            )
            ids = short_ids(work)
            rows = [[ids[each.id], *_row(each, now, everyone=everyone)] for each, now in used]
            print_table(columns, rows, empty="Nothing runs. What waits: corral ps", whole=("Id", "Runs"))
            if any(each.simulated for each, _ in used):
                note(SIMULATED)
        if not watch:
            return
        try:
            time.sleep(_WATCH_SECONDS)
        except KeyboardInterrupt:
            return


def _last(client: Client, work: str) -> dict[str, float | None]:
    """The newest value of each metric; None where there is none yet."""
    since = datetime.now(UTC) - _LATELY
    found = client.samples.query(f"workload:{work}", _METRICS, since=since)
    newest = {series.metric: series.points[-1].mean for series in found.items if series.points}
    return {metric: newest.get(metric) for metric in _METRICS}


def _row(work: Workload, used: dict[str, float | None], *, everyone: bool) -> list[Any]:
    given = work.resources
    cpu, memory = used["cpu_milli"], used["memory_bytes"]
    cores = "" if cpu is None else f"{cpu / 1000:.2f}"
    size = "" if memory is None else size_words(round(memory / _MIB))
    return [
        work.name,
        *([work.user.name] if everyone else []),
        f"{cores or '-'} of {given.cpu_milli * work.replicas / 1000:g}",
        f"{size or '-'} of {size_words(given.memory_mib * work.replicas)}",
        *_gpu(work, used),
        rate_words(used["received_bytes_per_second"]),
        rate_words(used["sent_bytes_per_second"]),
        since_words(work.started_at),
    ]


def _gpu(work: Workload, used: dict[str, float | None]) -> tuple[str, str]:
    """How busy (100 % for each whole one) and how full; nothing for work without a GPU."""
    if work.resources.gpu is None:
        return "", ""
    busy, memory = used["gpu_busy_percent"], used["gpu_memory_mib"]
    return "-" if busy is None else f"{busy:.0f} %", "-" if memory is None else size_words(round(memory))
