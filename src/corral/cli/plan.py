"""`corral plan`: what the scheduler would do with a snapshot, and why the rest waits."""

import json
from pathlib import Path
from typing import Annotated

import typer

from corral.cli.frame import Json, new_app
from corral.cli.output import print_facts, print_json, print_table, say
from corral.cli.refusals import CommandError
from corral.core.devices import DeviceUse
from corral.core.explanations import Explanation
from corral.core.plans import ALL_ACTIONS, Action, Plan, Unplaced
from corral.core.refusals import Invalid
from corral.scheduling.explaining.explanations import explain_workload
from corral.scheduling.explaining.wording import advice, details, duration, expectation, sentence
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import (
    Snapshot,
    read_snapshot,
    snapshot_schema,
    write_explanation,
    write_plan,
)

app = new_app()


@app.command()
def plan(
    snapshot: Annotated[
        Path | None,
        typer.Argument(metavar="SNAPSHOT", help="JSON file with cluster, queues and work."),
    ] = None,
    actions: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help=f"Only these actions, comma-separated: {', '.join(ALL_ACTIONS)}."),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option("--explain", metavar="WORKLOAD", help="Explain why this workload waits."),
    ] = None,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of snapshots.")] = False,
    as_json: Json = False,
) -> None:
    """Run the scheduler on a snapshot and show its plan. Nothing changes."""
    if schema:
        print_json(snapshot_schema())
        return
    if snapshot is None:
        raise CommandError("No snapshot was named.", remedy="Name a file: corral plan snapshot.json")
    read = _read(snapshot)
    chosen = _chosen(actions)
    if workload is not None:
        _explain(read, workload, chosen, as_json=as_json)
        return
    made = schedule(read, actions=chosen)
    if as_json:
        print_json(json.loads(write_plan(made)))
    else:
        _show(made, read.now)


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


def _show(made: Plan, now: int) -> None:
    say(
        f"{len(made.placements)} start, {len(made.promises)} wait for a release,"
        f" {len(made.evictions)} must go, {len(made.unplaced)} {_plural(made.unplaced)}."
    )
    if made.placements or made.promises or made.reservations:
        say("")
        rows = [(each.replica, "now", each.node, _devices(each.devices)) for each in made.placements]
        rows += [
            (each.replica, "after a release", each.node, _devices(each.devices)) for each in made.promises
        ]
        rows += [
            (each.replica, f"in {duration(each.at - now)}", each.node, _devices(each.devices))
            for each in made.reservations
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
            [(each.workload, each.queue, each.waiting, sentence(each.reason, now)) for each in made.unplaced],
            empty="",
        )


def _plural(waiting: tuple[Unplaced, ...]) -> str:
    return "workload waits" if len(waiting) == 1 else "workloads wait"


def _devices(uses: tuple[DeviceUse, ...]) -> list[str]:
    return [_device(use) for use in uses]


def _device(use: DeviceUse) -> str:
    if use.profile is not None:
        return f"{use.device} ({use.profile} at {use.start})"
    return use.device if use.memory_mib is None else f"{use.device} ({use.memory_mib} MiB)"


def _explain(snapshot: Snapshot, workload: str, actions: list[Action], *, as_json: bool) -> None:
    if workload not in {each.name for each in snapshot.workloads}:
        raise CommandError(f"The snapshot has no workload {workload!r}.", remedy="Name one of its workloads.")
    told = explain_workload(snapshot, workload, actions=actions)
    if told is None:
        say("null" if as_json else f"{workload} does not wait: all of its replicas run or start.")
    elif as_json:
        print_json(json.loads(write_explanation(told)))
    else:
        _tell(told, snapshot.now)


def _tell(told: Explanation, now: int) -> None:
    facts: dict[str, object] = {"Workload": told.workload, "Queue": told.queue, "Waiting": told.waiting}
    if told.in_queue is not None and told.in_pool is not None:
        facts["Position"] = (
            f"{told.in_queue.number} of {told.in_queue.of} in its queue,"
            f" {told.in_pool.number} of {told.in_pool.of} in its pool"
        )
    if told.estimate is not None:
        facts["Starts"] = expectation(told.estimate, now)
    if told.reserved:
        nodes = sorted({each.node for each in told.reserved})
        facts["Reserved"] = f"{', '.join(nodes)} in {duration(told.reserved[0].at - now)}"
    facts["Why"] = sentence(told.reason, now)
    print_facts(facts)
    for line in details(told):
        say(f"  {line}")
    if told.changes:
        say("It would run with any one of these changes:")
        for change in told.changes:
            say(f"  {advice(change, now)}")
    else:
        say("No single change that was tried lets it run now.")
