"""The Philly trace: training work of autumn 2017, virtual clusters as queues.

The trace says how many nodes a virtual cluster has, not how many GPUs a node has; that is given by the reader
of the trace. Virtual clusters without nodes get queues without a guarantee.
"""

from datetime import UTC, datetime
from pathlib import Path

from corral.core.refusals import Invalid
from corral.core.workloads import Request
from corral.replay.jobs import Job, Trace, gang
from corral.replay.nodes import make_nodes
from corral.replay.traces.rows import Row, read_rows

COLUMNS = ("timestamp", "duration", "num_gpus", "cluster")
NODE_COLUMNS = ("vc", "node num")
JOB_FILE, NODE_FILE = "philly.csv", "philly_vc_nodes.csv"

WHERE = (
    "The trace is Microsoft's philly-traces (https://github.com/msr-fiddle/philly-traces, CC-BY-4.0), as a"
    f" table {JOB_FILE} ({', '.join(COLUMNS)}) beside {NODE_FILE} ({', '.join(NODE_COLUMNS)})."
)


def read_philly(file: Path, *, gpus_per_node: int = 8, nodes_divided_by: int = 1) -> Trace:
    """`nodes_divided_by` makes the cluster smaller, every virtual cluster by the same factor."""
    counts = _read_counts(file.parent / NODE_FILE)
    first: datetime | None = None
    read: list[tuple[datetime, int, int, str]] = []
    for row in read_rows(file, COLUMNS):
        at = _instant(row)
        first = at if first is None or at < first else first
        gpus = row.whole("num_gpus", least=1)
        read.append((at, row.seconds("duration", least=1), gpus, row.text("cluster")))
    if first is None:
        raise Invalid.field(str(file), "The trace is empty.", WHERE)
    read.sort(key=lambda each: each[0])
    jobs = []
    for number, (at, seconds, gpus, queue) in enumerate(read):
        replicas, devices = gang(gpus, gpus_per_node)
        arrives = int((at - first).total_seconds())
        request = Request(devices=devices)
        jobs.append(Job(f"philly-{number:06}", queue, arrives, seconds, request, replicas))
    nodes = {name: max(1, count // nodes_divided_by) for name, count in counts.items()}
    return Trace(
        name="Philly",
        jobs=tuple(jobs),
        nodes=make_nodes(sum(nodes.values()), gpus_per_node, "P100", 16384),
        guarantees={name: count * gpus_per_node for name, count in nodes.items()},
    )


def _instant(row: Row) -> datetime:
    text = row.text("timestamp")
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError:
        raise row.wrong(
            "timestamp", f"{text!r} is no date and time", "Write it as 2017-10-09 07:01:55."
        ) from None


def _read_counts(file: Path) -> dict[str, int]:
    if not file.is_file():
        raise Invalid.field(str(file), "The nodes of the virtual clusters are missing.", WHERE)
    return {row.text("vc"): row.whole("node num", least=1) for row in read_rows(file, NODE_COLUMNS)}
