"""`corral simulate`: how a cluster would have served work, under one policy or several."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from corral.cli.frame import Json, new_app
from corral.cli.output import print_json, say
from corral.cli.refusals import CommandError
from corral.core.refusals import Invalid

if TYPE_CHECKING:
    from corral.replay.policy import Policy

app = new_app()


@app.command()
def simulate(
    jobs: Annotated[
        str,
        typer.Option(
            metavar="WORK",
            help="A trace (file or folder), or 'synthetic', as synthetic:hours=24,load_percent=110.",
        ),
    ] = "synthetic",
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="NODES",
            help="As 8x8xH100-80GB, or a file; those of the trace if it has any, else 4x8xH100-80GB.",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="As fixed or elastic,spreading,backfill; several are compared."),
    ] = None,
    queues: Annotated[
        str | None,
        typer.Option(metavar="GPUS", help="Guarantees, as vision=16,language=8; equal parts if not said."),
    ] = None,
    first: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N workloads.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of made-up work and of failures.")] = 0,
    gpus_per_node: Annotated[int, typer.Option(min=1, max=64, help="Where a trace counts nodes only.")] = 8,
    shrink: Annotated[
        int, typer.Option(min=1, max=1000, help="Divide the nodes that a trace brings by this.")
    ] = 1,
    limits: Annotated[
        int, typer.Option(min=0, metavar="TIMES", help="Run-time limits, in times of the run time; 0: none.")
    ] = 0,
    grace: Annotated[
        int, typer.Option(min=0, help="Seconds between notice and end of what is evicted.")
    ] = 30,
    cycle: Annotated[int, typer.Option(min=1, help="Seconds between two cycles at least.")] = 10,
    lost_nodes: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="Days until a node is lost, on average; 0: never.")
    ] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a report with charts.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay work on a simulated cluster and compare policies. Nothing real is started."""
    from corral.cli.simulate_output import Progress, document, show
    from corral.engines.simulated import Faults
    from corral.replay.inputs import find_guarantees, find_work, with_limits
    from corral.replay.report.page import write_report
    from corral.replay.run import replay
    from corral.replay.settings import Settings

    try:
        policies = _policies(policy)
        trace, cluster_nodes = find_work(jobs, nodes, seed, gpus_per_node, shrink)
        work = with_limits(trace.jobs[:first], limits)
        guarantees = find_guarantees(queues, trace, work, cluster_nodes)
    except Invalid as error:
        raise _refused(error) from None
    settings = Settings(
        grace_seconds=grace,
        save_seconds=grace,
        cycle_seconds=cycle,
        faults=Faults(node_lost_every_seconds=lost_nodes * 86_400),
        seed=seed,
    )
    results = []
    for chosen in policies:
        with Progress(chosen.name) as progress:
            results.append(replay(chosen, cluster_nodes, guarantees, work, settings, progress.show))
    if report is not None:
        _write(report, write_report(trace, results, shlex.join(["corral", *sys.argv[1:]])))
    summaries = [result.summary for result in results]
    if as_json:
        print_json(document(trace, len(work), len(cluster_nodes), summaries))
    else:
        show(trace, len(work), len(cluster_nodes), summaries)
        if report is not None:
            say("")
            say(f"The report is in {report}.")


def _policies(names: Sequence[str] | None) -> "list[Policy]":
    from corral.replay.policy import parse_policy

    chosen = [parse_policy(name) for name in names or ["elastic"]]
    if len({policy.name for policy in chosen}) < len(chosen):
        raise Invalid.field("policy", "A policy is named twice.", "Name each once.")
    return chosen


def _write(file: Path, page: str) -> None:
    try:
        file.write_text(page, encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"--report: {file} cannot be written.",
            error.strerror or "",
            "Name a file in a folder that is there.",
        ) from None


def _refused(error: Invalid) -> CommandError:
    places = "\n  ".join(f"{each.field}: {each.message} {each.remedy}" for each in error.errors)
    return CommandError("This cannot be simulated.", places or error.detail, "" if places else error.remedy)
