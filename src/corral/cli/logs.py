"""`corral logs`: what work wrote."""

import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from corral_sdk import Client, Problem, encode
from corral_sdk.models import Log

from corral.cli.connection import connect
from corral.cli.frame import new_app
from corral.cli.output import WorkOutput, print_json, warn
from corral.cli.work_names import find_workload

app = new_app()

# A line is rarely longer; a tail that has too few lines is asked for again, whole.
_LINE_BYTES = 400
_MOST_TAIL_BYTES = 1024 * 1024


@app.command()
def logs(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Follow the output until the work ends.")
    ] = False,
    replica: Annotated[int, typer.Option(min=0, metavar="N", help="Which replica.")] = 0,
    attempt: Annotated[int | None, typer.Option(min=1, metavar="N", help="The attempt. [the last]")] = None,
    tail: Annotated[int | None, typer.Option(min=0, metavar="LINES", help="Only the last lines.")] = None,
    raw: Annotated[
        bool,
        typer.Option("--raw", help="Pass terminal control sequences through."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
) -> None:
    """Show or follow the output of work.

    On a terminal, what others wrote is shown without what the terminal would obey; of your own work, colours
    and progress bars stay. To a file or a pipe it goes as it is.
    """
    client = connect()
    work = find_workload(client, workload)
    size = None if tail is None else min(_MOST_TAIL_BYTES, max(1, tail) * _LINE_BYTES)
    output = _output(client, work, raw=raw)
    parts = client.workloads.logs(work, attempt=attempt, replica=replica, tail_bytes=size, follow=follow)
    try:
        for part in _last_lines(parts, tail) if tail is not None else parts:
            _show(part, output, as_json=as_json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    finally:
        output.close()


def _output(client: Client, work: str, *, raw: bool) -> WorkOutput:
    """Whose work it is matters on a terminal alone."""
    if raw or not sys.stdout.isatty():
        return WorkOutput(own=False, raw=raw)
    try:
        return WorkOutput(own=client.workloads.get(work).user.id == client.me.get().id)
    except Problem:  # a token that may not read who it belongs to
        return WorkOutput(own=False)


def _last_lines(parts: Iterator[Log], lines: int) -> Iterator[Log]:
    """Cuts the first part, which is the tail, to whole lines."""
    from dataclasses import replace

    first = next(parts)
    text = first.text
    if first.offset:
        text = text.partition("\n")[2]
    kept = "".join(text.splitlines(keepends=True)[-lines:]) if lines else ""
    yield replace(first, text=kept, dropped=0)
    yield from parts


def _show(part: Log, output: WorkOutput, *, as_json: bool) -> None:
    if as_json:
        print_json(encode(part), indent=None)
        sys.stdout.flush()
    else:
        if part.dropped:
            warn(f"[{part.dropped} bytes of output are no longer kept]")
        output.write(part.text)
