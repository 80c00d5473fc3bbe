"""What simulated runs report: output that says what they are, and use as if they used what they asked for."""

from collections.abc import Mapping, Sequence

from corral.core.nodes import Node
from corral.engines.interface import Run, RunPhase
from corral.engines.reports import Counters, DeviceUsage, LogChunk, NodeUse, Usage
from corral.engines.tasks import Task

MOST_OUTPUT = 65536
FOREVER = float("inf")

_MIB = 1024 * 1024


def output(run: Run, after: int, limit: int) -> LogChunk:
    """Every line once it is true; what was told before never changes."""
    text = ""
    if run.started is not None:
        text += f"This run is simulated and computes nothing. It began at {run.started} on {run.node}.\n"
    if run.phase is RunPhase.ENDED:
        text += f"It ended at {run.ended}: {run.ending}.\n"
    whole = text.encode()
    data = whole[after : after + limit]
    following = min(after, len(whole)) + len(data)
    return LogChunk(data, after, following, ended=run.phase is RunPhase.ENDED and following == len(whole))


def counters(task: Task | None, began: int | None, now: int, ticks_per_second: int) -> Counters:
    """As if a run used all it asked for; without a task nothing is known of that."""
    if began is None:
        return Counters(cpu_microseconds=0, memory_bytes=0, processes=0)
    if task is None:
        return Counters()
    return Counters(
        cpu_microseconds=(now - began) * task.cpu_milli * 1000 // ticks_per_second,
        memory_bytes=task.memory_mib * _MIB,
        memory_peak_bytes=task.memory_mib * _MIB,
        processes=1,
    )


def usage(
    now: int,
    ticks_per_second: int,
    runs: Mapping[str, Counters],
    nodes: Sequence[Node],
    held_mib: Mapping[tuple[str, str], int],
) -> Usage:
    devices = tuple(
        DeviceUsage(
            node.name,
            device.id,
            simulated=True,
            busy_percent=0,
            memory_used_mib=held_mib.get((node.name, device.id), 0),
            memory_total_mib=device.memory_mib,
        )
        for node in nodes
        for device in node.devices
    )
    return Usage(now, runs, {node.name: _node_use(node, now, ticks_per_second) for node in nodes}, devices)


def _node_use(node: Node, now: int, ticks_per_second: int) -> NodeUse:
    total = now * node.cpu_milli * 1000 // ticks_per_second
    return NodeUse(0, total, 0, node.memory_mib * _MIB, 0, 0)
