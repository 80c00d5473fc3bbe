"""`corral plan`: what the scheduler would do with a snapshot, and why the rest waits."""

import json
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.frame import Json, new_app
from corral.cli.output import print_facts, print_table, say
from corral.cli.refusals import CommandError
from corral.core.devices import DeviceUse
from corral.core.plans import ALL_ACTIONS, Action, Plan, Unplaced
from corral.core.refusals import Invalid
from corral.scheduling.engine import schedule
from corral.scheduling.explain import explain, sentence
from corral.scheduling.snapshot import Snapshot, read_snapshot, snapshot_schema, write_plan

app = new_app()


@app.command()
def plan(
    snapshot: Annotated[
        Path | None,
        typer.Argument(metavar="SNAPSHOT", help="JSON file of cluster, queues and work."),
    ] = None,
    actions: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"Only these, with commas: {', '.join(ALL_ACTIONS)}."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option("--explain", metavar="WORKLOAD", help="Say why this workload waits."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of snapshots.")] = False,
    as_json: Json = False,
) -> None:
    """Show the plan that the scheduler makes of a snapshot. Nothing is changed by it."""
    if schema:
        say(json.dumps(snapshot_schema(), indent=2))
        return
    if snapshot is None:
        raise CommandError("No snapshot was named.", remedy="Name a file: corral plan snapshot.json")
    read = _read(snapshot)
    made = schedule(read, actions=_chosen(actions))
    if workload is not None:
        _explain(read, made, workload)
    elif as_json:
        say(write_plan(made))
    else:
        _show(made)


def _read(file: Path) -> Snapshot:
    try:
        return read_snapshot(file.read_bytes())
    except OSError as error:
        raise CommandError(
            f"{file} cannot be read.", error.strerror or "", "Name a file that exists."
        ) from None
    except Invalid as error:
        places = "\n  ".join(f"{each.field}: {each.message} {each.remedy}" for each in error.errors)
        raise CommandError(error.detail, places, error.remedy) from None


def _chosen(names: str | None) -> list[Action]:
    if names is None:
        return list(ALL_ACTIONS)
    known = {action.value: action for action in ALL_ACTIONS}
    wanted = [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise CommandError(f"There is no action {unknown[0]!r}.", remedy=f"Use some of: {', '.join(known)}.")
    return [known[name] for name in wanted]


def _show(made: Plan) -> None:
    say(
        f"{len(made.placements)} start, {len(made.promises)} wait for a release,"
        f" {len(made.evictions)} must go, {len(made.unplaced)} workloads wait."
    )
    if made.placements or made.promises:
        say("")
        rows = [(each.replica, "now", each.node, _devices(each.devices)) for each in made.placements]
        rows += [
            (each.replica, "after a release", each.node, _devices(each.devices)) for each in made.promises
        ]
        print_table(("Replica", "Starts", "Node", "Devices"), rows, empty="")
    if made.evictions:
        say("")
        print_table(
            ("Replica", "Leaves", "For", "Rule", "Then"),
            [
                (each.replica, each.node, each.for_workload, each.rule, "moves" if each.moves else "waits")
                for each in made.evictions
            ],
            empty="",
        )
    if made.unplaced:
        say("")
        print_table(
            ("Workload", "Queue", "Waiting", "Why"),
            [(each.workload, each.queue, each.waiting, sentence(each.reason)) for each in made.unplaced],
            empty="",
        )


def _devices(uses: tuple[DeviceUse, ...]) -> list[str]:
    return [use.device if use.memory_mib is None else f"{use.device} ({use.memory_mib} MiB)" for use in uses]


def _explain(snapshot: Snapshot, made: Plan, workload: str) -> None:
    if workload not in {each.name for each in snapshot.workloads}:
        raise CommandError(f"The snapshot has no workload {workload!r}.", remedy="Name one of its workloads.")
    found: Unplaced | None = next((each for each in made.unplaced if each.workload == workload), None)
    if found is None:
        say(f"{workload} does not wait: all of its replicas run or start with this plan.")
        return
    told = explain(found)
    print_facts({"Workload": workload, "Queue": found.queue, "Waiting": found.waiting, "Why": told.why})
    for line in told.details:
        say(f"  {line}")
    say(f"What would help: {told.remedy}")
