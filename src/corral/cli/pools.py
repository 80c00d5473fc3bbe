"""`corral pool`: which nodes are shared alike."""

from typing import Annotated, Any

import typer
from corral_sdk import UNCHANGED, encode

from corral.cli.connection import ask_name, connect
from corral.cli.frame import Json, Yes, new_app, require_change
from corral.cli.names import find_pool, find_zone
from corral.cli.nodes import ZoneOption
from corral.cli.output import print_facts, print_json, print_table, say
from corral.cli.quantities import shown
from corral.cli.refusals import CommandError
from corral.core.durations import duration_words

app = new_app(help="Manage pools: nodes that are shared under the same rules.")

_Pool = Annotated[str, typer.Argument(metavar="POOL", help="Name or id of the pool.")]
_Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label", metavar="KEY=VALUE", help="Nodes with this label belong to the pool; repeatable."
    ),
]
_Arrangement = Annotated[
    str | None,
    typer.Option(metavar="HOW", help="packing (fill a node first) or spreading (the emptiest first)."),
]
_Unit = Annotated[
    int | None,
    typer.Option(
        "--unit", metavar="MILLI", help="Smallest share of a GPU: 1000 for whole GPUs, 1 for slices."
    ),
]
_Across = Annotated[
    bool | None,
    typer.Option(
        "--priority-across-queues/--priority-within-queues",
        help="Whether a higher priority preempts work of other queues, too.",
    ),
]
_Reservations = Annotated[
    int | None,
    typer.Option(metavar="COUNT", help="How many waiting workloads get a start time that nobody can delay."),
]
_Strength = Annotated[
    str | None,
    typer.Option(
        metavar="HOW", help="Weakest isolation of slices allowed: none, hook, driver, kernel, hardware."
    ),
]
_MostGrace = Annotated[
    int | None, typer.Option(metavar="SECONDS", help="Longest grace period new work may ask for.")
]
_MostRetries = Annotated[
    int | None, typer.Option(metavar="COUNT", help="Most retries that new work may ask for.")
]
_MostReplicas = Annotated[
    int | None, typer.Option(metavar="COUNT", help="Most replicas that new work may ask for.")
]
_MostHold = Annotated[
    int | None, typer.Option(metavar="SECONDS", help="Longest time that a place is kept for a restart.")
]


@app.command("list")
def list_pools(zone: ZoneOption = None, as_json: Json = False) -> None:
    """List the pools and the capacity of their nodes."""
    client = connect()
    pools = list(client.pools.list(zone=find_zone(client, zone).id if zone else None))
    if as_json:
        print_json(encode(pools))
        return
    rows = (
        (
            each.name,
            each.zone_name,
            ", ".join(f"{key}={value}" for key, value in each.labels.items()) or "(all others)",
            each.nodes_count,
            shown(each.capacity.gpu_milli, "gpu_milli") + (" (simulated)" if each.simulated else ""),
            shown(each.capacity.cpu_milli, "cpu_milli"),
            shown(each.capacity.memory_mib, "memory_mib"),
            each.arrangement,
            each.id,
        )
        for each in pools
    )
    columns = ("Name", "Zone", "Labels", "Nodes", "GPUs", "CPUs", "Memory", "Arrangement", "Id")
    print_table(columns, rows, empty="There is no pool.")


@app.command()
def show(pool: _Pool, as_json: Json = False) -> None:
    """Show one pool with its rules and capacity."""
    found = find_pool(connect(), pool)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "Name": found.name,
            "Id": found.id,
            "Zone": found.zone_name,
            "Labels": ", ".join(f"{key}={value}" for key, value in found.labels.items()) or "(all others)",
            "Nodes": str(found.nodes_count),
            "GPUs": shown(found.capacity.gpu_milli, "gpu_milli")
            + (" (simulated)" if found.simulated else ""),
            "CPUs": shown(found.capacity.cpu_milli, "cpu_milli"),
            "Memory": shown(found.capacity.memory_mib, "memory_mib"),
            "Arrangement": found.arrangement,
            "Priority": "across queues" if found.priority_across_queues else "within a queue",
            "Reservations": str(found.reservations),
            "Weakest isolation": found.least_strength,
            "Longest grace period": duration_words(found.most_grace_seconds),
            "Most retries": str(found.most_retries),
            "Most replicas": str(found.most_replicas),
            "Longest hold for a restart": duration_words(found.most_hold_seconds),
        }
    )


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the new pool.")],
    label: _Labels = None,
    zone: Annotated[str | None, typer.Option(metavar="ZONE", help="Zone of the pool. [the only one]")] = None,
    arrangement: _Arrangement = None,
    unit: _Unit = None,
    across: _Across = None,
    reservations: _Reservations = None,
    strength: _Strength = None,
    most_grace_seconds: _MostGrace = None,
    most_retries: _MostRetries = None,
    most_replicas: _MostReplicas = None,
    most_hold_seconds: _MostHold = None,
    as_json: Json = False,
) -> None:
    """Create a pool of the nodes that carry its labels."""
    client = connect()
    zones = list(client.zones.list())
    if zone is not None:
        zones = [find_zone(client, zone)]
    if len(zones) != 1:
        raise CommandError("There are several zones.", remedy="Choose one with --zone.")
    wanted = _wanted(arrangement, unit, across, reservations, strength)
    wanted |= _caps(most_grace_seconds, most_retries, most_replicas, most_hold_seconds)
    made = client.pools.create(zones[0].id, name, labels_of(label or ()), **wanted)
    if as_json:
        print_json(encode(made))
    else:
        say(f"Created the pool {made.name} with {_nodes(made.nodes_count)} ({made.id}).")


@app.command()
def edit(
    pool: _Pool,
    name: Annotated[str | None, typer.Option(help="New name.")] = None,
    label: _Labels = None,
    arrangement: _Arrangement = None,
    unit: _Unit = None,
    across: _Across = None,
    reservations: _Reservations = None,
    strength: _Strength = None,
    most_grace_seconds: _MostGrace = None,
    most_retries: _MostRetries = None,
    most_replicas: _MostReplicas = None,
    most_hold_seconds: _MostHold = None,
    as_json: Json = False,
) -> None:
    """Change which nodes a pool has and how work is placed in it."""
    require_change(
        *(name, label, arrangement, unit, across, reservations, strength),
        *(most_grace_seconds, most_retries, most_replicas, most_hold_seconds),
        options="--name, --label, --arrangement, --most-retries (see --help)",
    )
    client = connect()
    found = find_pool(client, pool)
    wanted = _wanted(arrangement, unit, across, reservations, strength)
    wanted |= _caps(most_grace_seconds, most_retries, most_replicas, most_hold_seconds)
    if name is not None:
        wanted["name"] = name
    if label:
        wanted["labels"] = labels_of(label)
    changed = client.pools.update(found.id, generation=found.generation, **wanted)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"Changed the pool {changed.name}: {_nodes(changed.nodes_count)}, {changed.arrangement}.")


@app.command()
def delete(pool: _Pool, yes: Yes = False, as_json: Json = False) -> None:
    """Delete a pool that has no nodes, no quotas and no work."""
    client = connect()
    found = find_pool(client, pool)
    ask_name("the pool", found.name, yes)
    client.pools.delete(found.id, generation=found.generation)
    if as_json:
        print_json(encode(found))
    else:
        say(f"Deleted the pool {found.name}.")


def labels_of(texts: Any) -> dict[str, str]:
    labels = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals and value):
            raise CommandError(f"--label {text!r} is no label.", remedy="Write it as key=value.")
        labels[key] = value
    return labels


def _wanted(
    arrangement: str | None,
    unit: int | None,
    across: bool | None,
    reservations: int | None,
    strength: str | None,
) -> dict[str, Any]:
    asked = {
        "arrangement": arrangement,
        "unit_gpu_milli": unit,
        "priority_across_queues": across,
        "reservations": reservations,
        "least_strength": strength,
    }
    return _given(asked)


def _caps(
    grace_seconds: int | None, retries: int | None, replicas: int | None, hold_seconds: int | None
) -> dict[str, Any]:
    asked = {
        "most_grace_seconds": grace_seconds,
        "most_retries": retries,
        "most_replicas": replicas,
        "most_hold_seconds": hold_seconds,
    }
    return _given(asked)


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: UNCHANGED if value is None else value for name, value in asked.items()}


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
