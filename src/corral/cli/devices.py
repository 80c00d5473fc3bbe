"""`corral devices`: the GPUs."""

from corral_sdk import encode

from corral.cli.connection import connect
from corral.cli.frame import Json, new_app
from corral.cli.names import find_pool
from corral.cli.nodes import PoolOption
from corral.cli.output import print_json, print_table, say
from corral.cli.quantities import shown

app = new_app()


@app.command("devices")
def list_devices(pool: PoolOption = None, as_json: Json = False) -> None:
    """List the GPUs of all machines."""
    client = connect()
    devices = list(client.devices.list(pool=find_pool(client, pool).id if pool else None))
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
    print_table(columns, rows, empty="No machine that has been seen has a GPU. See: corral doctor")
    if any(each.simulated for each in devices):
        say("Simulated: it schedules and meters; your code computes on the CPU.")
