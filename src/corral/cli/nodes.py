"""`corral node`: the machines."""

from collections.abc import Sequence
from typing import Annotated

import typer
from corral_sdk import Client, encode
from corral_sdk.models import Device

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_node, find_pool, find_zone
from corral.cli.output import print_facts, print_json, print_table, say
from corral.cli.quantities import shown

app = new_app(help="List, show, cordon and uncordon nodes.")

_Node = Annotated[str, typer.Argument(metavar="NODE", help="Name or id of the node.")]

PoolOption = Annotated[str | None, typer.Option(metavar="POOL", help="Only this pool: name or id.")]
ZoneOption = Annotated[str | None, typer.Option(metavar="ZONE", help="Only this zone: name or id.")]


@app.command("list")
def list_nodes(pool: PoolOption = None, zone: ZoneOption = None, as_json: Json = False) -> None:
    """List the nodes and their capacity."""
    client = connect()
    nodes = list(client.nodes.list(**places(client, pool, zone)))
    if as_json:
        print_json(encode(nodes))
        return
    rows = (
        (
            each.name,
            each.zone_name,
            each.pool_name,
            "cordoned" if each.cordoned and each.state == "ready" else each.state,
            shown(each.cpu_milli, "cpu_milli"),
            shown(each.memory_mib, "memory_mib"),
            shown(each.disk_mib, "memory_mib"),
            gpus(each.devices),
            shown_time(each.seen_at),
            each.id,
        )
        for each in nodes
    )
    columns = ("Name", "Zone", "Pool", "State", "CPUs", "Memory", "Disk", "GPUs", "Last seen", "Id")
    print_table(columns, rows, empty="There are no nodes yet. A node appears once its engine has reported.")


@app.command()
def show(node: _Node, as_json: Json = False) -> None:
    """Show one node and its GPUs."""
    found = find_node(connect(), node)
    if as_json:
        print_json(encode(found))
        return
    print_facts(
        {
            "Name": found.name,
            "Id": found.id,
            "Pool": found.pool_name,
            "State": "cordoned" if found.cordoned and found.state == "ready" else found.state,
            "Labels": ", ".join(f"{key}={value}" for key, value in found.labels.items()),
            "CPUs": shown(found.cpu_milli, "cpu_milli"),
            "Memory": shown(found.memory_mib, "memory_mib"),
            "Disk": shown(found.disk_mib, "memory_mib"),
            "GPUs": gpus(found.devices),
            "Last seen": shown_time(found.seen_at),
        }
    )


@app.command()
def cordon(node: _Node, as_json: Json = False) -> None:
    """Keep new work off a node. Work that runs there stays."""
    client = connect()
    found = find_node(client, node)
    changed = client.nodes.cordon(found.id, generation=found.generation)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{changed.name} takes no new work. Work that runs there stays.")


@app.command()
def uncordon(node: _Node, as_json: Json = False) -> None:
    """Let a node take new work again."""
    client = connect()
    found = find_node(client, node)
    changed = client.nodes.uncordon(found.id, generation=found.generation)
    if as_json:
        print_json(encode(changed))
    else:
        say(f"{changed.name} takes new work again.")


def places(client: Client, pool: str | None, zone: str | None) -> dict[str, str | None]:
    """Which nodes are meant, by ids."""
    return {
        "pool": find_pool(client, pool).id if pool else None,
        "zone": find_zone(client, zone).id if zone else None,
    }


def gpus(devices: Sequence[Device]) -> str:
    """8x H100-80GB (simulated)."""
    models: dict[str, int] = {}
    for one in devices:
        label = f"{one.model or one.vendor or 'GPU'}{' (simulated)' if one.simulated else ''}"
        models[label] = models.get(label, 0) + 1
    return ", ".join(f"{count}x {label}" for label, count in models.items())
