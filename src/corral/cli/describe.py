"""`corral describe`: one workload with everything that happened to it."""

import shlex
from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any

import typer
from corral_sdk import encode
from corral_sdk.models import ReplicaView, Workload, WorkloadDetail

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.output import note, print_facts, print_json, print_table, say
from corral.cli.work_names import find_workload
from corral.cli.work_words import SIMULATED, needs_words, ready_words, size_words, waiting_words
from corral.core.durations import duration_words

app = new_app()

_MOST_CHILDREN = 20


@app.command()
def describe(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    as_json: Json = False,
) -> None:
    """Show one workload: what it asked for, where it ran, and its history."""
    client = connect()
    work = client.workloads.get(find_workload(client, workload))
    if as_json:
        print_json(encode(work))
        return
    _print_facts(work)
    _print_children(list(islice(client.workloads.list(parent_id=work.id), _MOST_CHILDREN + 1)), work)
    say("")
    rows = (
        (shown_time(one.at), one.attempt or "", one.state, one.reason.sentence) for one in work.transitions
    )
    print_table(("When", "Attempt", "State", "Why"), rows, empty="")
    placed = [(attempt.number, one) for attempt in work.attempts for one in attempt.replicas]
    if placed:
        say("")
        print_table(
            ("Attempt", "Replica", "Node", "Devices", "Phase", "Ready since", "End"),
            (
                (
                    number,
                    one.number,
                    one.node,
                    _devices(one),
                    one.phase,
                    shown_time(one.ready_at),
                    _end(one),
                )
                for number, one in placed
            ),
            empty="",
        )


def _print_children(children: list[Workload], work: WorkloadDetail) -> None:
    if not children:
        return
    say("")
    rows = ((one.id, one.name, one.kind, one.state) for one in children[:_MOST_CHILDREN])
    print_table(("Child", "Name", "Kind", "State"), rows, empty="")
    if len(children) > _MOST_CHILDREN:
        note(f"There are more: corral ps --parent {work.id}.")


def _simulated(work: WorkloadDetail) -> str | None:
    if work.spec.get("simulation"):
        return "The zone is simulated: nothing is executed, the work takes the time that it was given."
    return SIMULATED if work.simulated else None


def _print_facts(work: WorkloadDetail) -> None:
    spec = work.spec
    print_facts(
        {
            "Name": work.name,
            "Id": work.id,
            "State": work.state,
            "Why": work.reason.sentence,
            "Trouble": [f"{one.sentence} Since {shown_time(one.since)}." for one in work.troubles],
            "Waits": None if work.waits is None else waiting_words(work.waits),
            "Command": shlex.join(spec.get("command", [])),
            "Parameters": [f"{name}={value}" for name, value in spec.get("parameters", {}).items()],
            "Needs": needs_words(work.resources, work.replicas),
            "Cores": f"{work.resources.cpu_milli / 1000:g}",
            "Memory": size_words(work.resources.memory_mib),
            "Flavor": work.flavor,
            "Parent": work.parent_id,
            "Zone": work.zone_name,
            "Where": work.nodes,
            "Held": _held(work),
            "Ports": [_port(one) for one in spec.get("ports") or ()],
            "Ready when": _readiness(spec.get("readiness")),
            "Ready": _ready(work),
            "Simulated": _simulated(work),
            "Whose": f"{work.user.name} in {work.organisation.name}",
            "Priority": f"{work.priority}{'' if work.preemptible else ', not preemptible'}",
            "Attempts": f"{work.attempt}, {spec['retries']} retries" if spec.get("retries") else work.attempt,
            "Time limit": duration_words(spec["time_limit_seconds"])
            if spec.get("time_limit_seconds")
            else None,
            "Submitted": shown_time(work.created_at),
            "Ended": shown_time(work.ended_at),
            "Exit code": work.exit_code,
        }
    )


def _port(port: Mapping[str, Any]) -> str:
    return f"{port['name']}={port['number']}/{port['protocol']}"


def _readiness(readiness: Mapping[str, Any] | None) -> str | None:
    """How Corral finds out that a replica is ready; None where that is when it runs."""
    if readiness is None:
        return None
    if readiness.get("output") is not None:
        return f'its output contains "{readiness["output"]}"'
    if readiness.get("path") is not None:
        return f"GET {readiness['path']} is answered on port {readiness['port']}"
    return f"port {readiness['port']} accepts connections"


def _held(work: WorkloadDetail) -> str | None:
    if work.held_until is None:
        return None
    return f"its place is kept for its restart until {shown_time(work.held_until)}"


def _ready(work: WorkloadDetail) -> str | None:
    if work.ready_at is not None:
        return f"since {shown_time(work.ready_at)}"
    return ready_words(work) or None


def _devices(replica: ReplicaView) -> str:
    parts = []
    for held in replica.devices:
        size = held.profile or (size_words(held.memory_mib) if held.memory_mib is not None else "")
        parts.append(f"{held.device} ({size})" if size else held.device)
    return ", ".join(parts)


def _end(replica: ReplicaView) -> str:
    if replica.end is None:
        return ""
    how = f"signal {replica.signal}" if replica.signal is not None else ""
    how = f"exit code {replica.exit_code}" if replica.exit_code is not None else how
    return ", ".join(part for part in (replica.end, how, replica.detail) if part)
