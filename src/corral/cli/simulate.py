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
            help="A trace (file or folder), or synthetic work: synthetic:hours=24,load_percent=110.",
        ),
    ] = "synthetic",
    nodes: Annotated[
        str | None,
        typer.Option(
            metavar="NODES",
            help="8x8xH100-80GB, or a file. [those of the trace, or 4x8xH100-80GB]",
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="fixed, or elastic,spreading,backfill; repeat to compare."),
    ] = None,
    queues: Annotated[
        str | None,
        typer.Option(metavar="GPUS", help="Guarantees: vision=16,language=8. [equal parts]"),
    ] = None,
    first: Annotated[int | None, typer.Option(min=1, metavar="N", help="Only the first N workloads.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed for synthetic work and failures.")] = 0,
    gpus_per_node: Annotated[
        int, typer.Option(min=1, max=64, help="GPUs per node, where a trace counts only nodes.")
    ] = 8,
    shrink: Annotated[
        int, typer.Option(min=1, max=1000, help="Divide the number of nodes of a trace by this.")
    ] = 1,
    limits: Annotated[
        int,
        typer.Option(min=0, metavar="TIMES", help="Time limit as a multiple of the run time; 0 for none."),
    ] = 0,
    grace: Annotated[int, typer.Option(min=0, help="Seconds that evicted work gets to end.")] = 30,
    cycle: Annotated[int, typer.Option(min=1, help="Least seconds between two scheduling cycles.")] = 10,
    lost_nodes: Annotated[
        int, typer.Option(min=0, metavar="DAYS", help="Mean days until a node fails; 0 for never.")
    ] = 0,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a report with charts.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Replay work on a simulated cluster and compare policies. Nothing real starts."""
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
