"""`corral pool`: which nodes are shared alike."""

from typing import Annotated, Any

import typer
from corral_sdk import UNCHANGED, encode

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.names import find_pool, one_of
from corral.cli.output import print_json, print_table, say
from corral.cli.quantities import shown
from corral.cli.refusals import CommandError

app = new_app(help="Pools: nodes that are shared alike.")

_Labels = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Nodes that carry it are in the pool; repeat it."),
]
_Arrangement = Annotated[
    str | None,
    typer.Option(metavar="HOW", help="packing (fill a node first) or spreading (the emptiest first)."),
]
_Unit = Annotated[
    int | None,
    typer.Option("--unit", metavar="MILLI", help="Grain of division: 1000 for whole GPUs, 1 for slices."),
]
_Across = Annotated[
    bool | None,
    typer.Option(
        "--priority-across-queues/--priority-within-queues", help="Whose work a higher priority preempts."
    ),
]
_Reservations = Annotated[
    int | None, typer.Option(metavar="COUNT", help="How many that wait get a time nobody may push back.")
]
_Strength = Annotated[
    str | None,
    typer.Option(metavar="HOW", help="Least isolation of slices: none, hook, driver, kernel, hardware."),
]
_MostGrace = Annotated[
    int | None, typer.Option(metavar="SECONDS", help="Longest grace_seconds that new work may ask for.")
]
_MostRetries = Annotated[
    int | None, typer.Option(metavar="COUNT", help="Most retries that new work may ask for.")
]
_MostReplicas = Annotated[
    int | None, typer.Option(metavar="COUNT", help="Most replicas that new work may ask for.")
]


@app.command("list")
def list_pools(as_json: Json = False) -> None:
    """List the pools with what their nodes have."""
    pools = list(connect().pools.list())
    if as_json:
        print_json(encode(pools))
        return
    rows = (
        (
            each.name,
            each.zone_name,
            ", ".join(f"{key}={value}" for key, value in each.labels.items()) or "(all that are left)",
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
def create(
    name: Annotated[str, typer.Argument(help="Name of the new pool.")],
    label: _Labels = None,
    zone: Annotated[
        str | None, typer.Option(metavar="ZONE", help="Where; needed if there are several.")
    ] = None,
    arrangement: _Arrangement = None,
    unit: _Unit = None,
    across: _Across = None,
    reservations: _Reservations = None,
    strength: _Strength = None,
    most_grace_seconds: _MostGrace = None,
    most_retries: _MostRetries = None,
    most_replicas: _MostReplicas = None,
    as_json: Json = False,
) -> None:
    """Make a pool of the nodes that carry its labels."""
    client = connect()
    zones = list(client.zones.list())
    if zone is not None:
        zones = [one_of(zones, "zone", zone, lambda each: (each.id, each.name))]
    if len(zones) != 1:
        raise CommandError("Which zone is meant is not clear.", remedy="Name it with --zone.")
    wanted = _wanted(arrangement, unit, across, reservations, strength)
    wanted |= _caps(most_grace_seconds, most_retries, most_replicas)
    made = client.pools.create(zones[0].id, name, labels_of(label or ()), **wanted)
    if as_json:
        print_json(encode(made))
    else:
        say(f"Created the pool {made.name} with {_nodes(made.nodes_count)} ({made.id}).")


@app.command()
def change(
    pool: Annotated[str, typer.Argument(metavar="POOL", help="Id or name of the pool.")],
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
    as_json: Json = False,
) -> None:
    """Change how work is placed in it, or which nodes are in it."""
    client = connect()
    found = find_pool(client, pool)
    wanted = _wanted(arrangement, unit, across, reservations, strength)
    wanted |= _caps(most_grace_seconds, most_retries, most_replicas)
    if name is not None:
        wanted["name"] = name
    if label:
        wanted["labels"] = labels_of(label)
    changed = client.pools.update(found.id, generation=found.generation, **wanted)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"Changed the pool {changed.name}: {_nodes(changed.nodes_count)}, {changed.arrangement}.")


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


def _caps(grace_seconds: int | None, retries: int | None, replicas: int | None) -> dict[str, Any]:
    return _given({"most_grace_seconds": grace_seconds, "most_retries": retries, "most_replicas": replicas})


def _given(asked: dict[str, Any]) -> dict[str, Any]:
    return {name: UNCHANGED if value is None else value for name, value in asked.items()}


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"
