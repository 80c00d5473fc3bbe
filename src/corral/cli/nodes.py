"""`corral nodes`: the machines."""

from collections.abc import Sequence
from typing import Annotated

import typer
from corral_sdk import encode
from corral_sdk.models import Device

from corral.cli.connection import connect, shown_time
from corral.cli.frame import Json, new_app
from corral.cli.names import find_pool
from corral.cli.output import print_json, print_table
from corral.cli.quantities import shown

app = new_app()

PoolOption = Annotated[
    str | None, typer.Option(metavar="POOL", help="Only this pool: its id or name; all if left out.")
]


@app.command("nodes")
def list_nodes(pool: PoolOption = None, as_json: Json = False) -> None:
    """List the machines with what they have."""
    client = connect()
    nodes = list(client.nodes.list(pool=find_pool(client, pool).id if pool else None))
    if as_json:
        print_json(encode(nodes))
        return
    rows = (
        (
            each.name,
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
    columns = ("Name", "Pool", "State", "CPUs", "Memory", "Disk", "GPUs", "Last seen", "Id")
    print_table(columns, rows, empty="No machine has been seen yet. It appears once its engine has reported.")


def gpus(devices: Sequence[Device]) -> str:
    """8x H100-80GB (simulated)."""
    models: dict[str, int] = {}
    for one in devices:
        label = f"{one.model or one.vendor or 'GPU'}{' (simulated)' if one.simulated else ''}"
        models[label] = models.get(label, 0) + 1
    return ", ".join(f"{count}x {label}" for label, count in models.items())
