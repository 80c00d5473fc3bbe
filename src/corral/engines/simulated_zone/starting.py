"""From starts to rows, inside a transaction: what cannot be started is refused here, in words."""

from collections.abc import Mapping, Sequence

from corral.engines.interface import Start
from corral.engines.simulated_zone import rows, world
from corral.engines.simulated_zone.inventory import Fleet
from corral.engines.simulated_zone.rows import NodeState
from corral.engines.simulated_zone.world import RunRow
from corral.store.database import Transaction

_AS_DESCRIBED = NodeState()
NO_SIMULATION = (
    "nothing says what it should simulate: this zone is simulated, and work in it names its duration under"
    " simulation"
)


def start(transaction: Transaction, zone_id: str, fleet: Fleet, starts: Sequence[Start], at: int) -> None:
    """Attempt by attempt, in order: of two that want the same device the first has it."""
    names_in_use = rows.names_in_use(transaction, zone_id, (one.run for one in starts))
    groups: dict[tuple[str, int], dict[str, Start]] = {}
    for one in starts:
        if one.run not in names_in_use:
            groups.setdefault((one.workload, one.attempt), {})[one.run] = one
    nodes = {one.node for group in groups.values() for one in group.values()}
    if not nodes:
        return
    used_mib = world.held_mib(rows.on_nodes(transaction, zone_id, nodes, at), at)
    states = rows.node_states(transaction, zone_id, nodes)
    begun: list[RunRow] = []
    for (workload, attempt), group in groups.items():
        because = find_refusal(list(group.values()), fleet, states, used_mib)
        if because is not None:
            fresh = [world.refused(one, at, because) for one in group.values()]
        else:
            resumes = any(one.task is not None and one.task.resume for one in group.values())
            done = rows.carried_us(transaction, zone_id, workload, attempt) if resumes else {}
            fresh = [_begin(one, at, fleet, states, done) for one in group.values()]
        for key, mib in world.held_mib(fresh, at).items():
            used_mib[key] = used_mib.get(key, 0) + mib
        begun += fresh
    rows.add(transaction, zone_id, begun)


def find_refusal(
    starts: Sequence[Start],
    fleet: Fleet,
    states: Mapping[str, NodeState],
    held_mib: Mapping[tuple[str, str], int],
) -> str | None:
    """Why these replicas, which all begin or none, cannot be started here."""
    wanted: dict[tuple[str, str], int] = {}
    for one in starts:
        state = states.get(one.node, _AS_DESCRIBED)
        devices = fleet.device_mib.get(one.node)
        if devices is None or state.lost:
            return f"there is no node {one.node}"
        if one.task is None or one.task.simulation is None:
            return NO_SIMULATION
        if state.refusal is not None:
            return state.refusal
        for use in one.devices:
            whole = devices.get(use.device)
            if whole is None:
                return f"{one.node} has no device {use.device}"
            key = one.node, use.device
            wanted[key] = wanted.get(key, 0) + (whole if use.memory_mib is None else use.memory_mib)
            if held_mib.get(key, 0) + wanted[key] > whole:
                return f"device {use.device} of {one.node} is in use"
    return None


def _begin(
    one: Start, at: int, fleet: Fleet, states: Mapping[str, NodeState], done_us: Mapping[str, int]
) -> RunRow:
    assert one.task is not None
    assert one.task.simulation is not None
    seconds = states.get(one.node, _AS_DESCRIBED).start_seconds
    return world.started(
        one,
        one.task,
        one.task.simulation,
        at,
        start_seconds=world.START_SECONDS if seconds is None else seconds,
        device_mib=fleet.device_mib[one.node],
        carried_us=done_us.get(one.replica, 0) if one.task.resume else 0,
    )
