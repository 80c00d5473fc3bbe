"""`corral device`: the GPUs."""

from corral_sdk import encode

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.nodes import PoolOption, ZoneOption, places
from corral.cli.output import note, print_json, print_table
from corral.cli.quantities import shown

app = new_app()


@app.callback()
def device() -> None:
    """List the GPUs."""


@app.command("list")
def list_devices(pool: PoolOption = None, zone: ZoneOption = None, as_json: Json = False) -> None:
    """List the GPUs of all nodes."""
    client = connect()
    devices = list(client.devices.list(**places(client, pool, zone)))
    if as_json:
        print_json(encode(devices))
        return
    rows = (
        (
            each.node_name,
            each.index,
            f"{each.model} (simulated)" if each.simulated else each.model,
            shown(each.memory_mib, "memory_mib"),
            each.mode,
            each.health,
            each.pool_name,
            each.id,
        )
        for each in devices
    )
    columns = ("Node", "Number", "Model", "Memory", "Mode", "Health", "Pool", "Id")
    print_table(columns, rows, empty="No node has a GPU. See: corral doctor")
    if any(each.simulated for each in devices):
        note("Simulated: it schedules and meters; your code computes on the CPU.")
