"""What is to be replayed, from the words of a person: work, nodes, guarantees."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from corral.core.nodes import Node
from corral.core.refusals import Invalid
from corral.replay.jobs import Job, Trace
from corral.replay.nodes import parse_nodes
from corral.replay.synthetic import make_jobs, parse_recipe
from corral.replay.traces.find import read_trace
from corral.replay.traces.openb import read_openb_nodes
from corral.scheduling.validate.snapshot import read_snapshot

DEFAULT_NODES = "4x8xH100-80GB"


def find_work(
    jobs: str, nodes: str | None, seed: int, gpus_per_node: int, shrink: int
) -> tuple[Trace, tuple[Node, ...]]:
    """The trace and the nodes that the options name; nodes that are given replace those of the trace."""
    if jobs == "synthetic" or jobs.startswith("synthetic:"):
        recipe = parse_recipe(jobs)
        found = _nodes(nodes or DEFAULT_NODES)
        gpus = sum(len(node.devices) for node in found)
        if not gpus:
            raise Invalid.field("nodes", "These nodes have no GPU for made-up work.", "Name nodes with GPUs.")
        largest = max(len(node.devices) for node in found)
        return Trace(f"made-up work, seed {seed}", make_jobs(recipe, gpus, largest, seed)), found
    if nodes is not None:
        found = _nodes(nodes)
        gpus_per_node = max(1, max((len(node.devices) for node in found), default=1))
    trace = read_trace(Path(jobs), gpus_per_node=gpus_per_node, nodes_divided_by=shrink)
    if nodes is None:
        found = trace.nodes or _nodes(DEFAULT_NODES)
    return trace, found


def _nodes(text: str) -> tuple[Node, ...]:
    file = Path(text)
    if not file.is_file():
        return parse_nodes(text)
    found = read_snapshot(file.read_bytes()).nodes if file.suffix == ".json" else read_openb_nodes(file)
    if not found:
        raise Invalid.field("nodes", f"{file} names no node.", "Name a file with nodes.")
    return found


def find_guarantees(
    text: str | None, trace: Trace, work: Sequence[Job], nodes: tuple[Node, ...]
) -> dict[str, int]:
    """GPUs of each queue: as given, else as the trace has them if that fits, else equal parts."""
    names = sorted({job.queue for job in work})
    gpus = sum(len(node.devices) for node in nodes)
    if text is None:
        if trace.guarantees and sum(trace.guarantees.values()) <= gpus:
            return trace.guarantees
        return {name: gpus // len(names) for name in names}
    given = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if not number.isdecimal():
            raise Invalid.field("queues", f"{part.strip()!r} gives no guarantee.", "Write name=GPUs.")
        if name not in names:
            raise Invalid.field("queues", f"No work is in queue {name!r}.", f"Queues are {', '.join(names)}.")
        given[name] = int(number)
    if sum(given.values()) > gpus:
        raise Invalid.field(
            "queues",
            f"The guarantees are {sum(given.values())} GPUs, the cluster has {gpus}.",
            "Lower them, or add nodes.",
        )
    return given


def with_limits(jobs: Sequence[Job], times: int) -> tuple[Job, ...]:
    """The same work, whose owners say that it takes at most so many times as long as it does; 0: nothing."""
    if not times:
        return tuple(jobs)
    return tuple(replace(job, limit_seconds=job.work_seconds * times) for job in jobs)
