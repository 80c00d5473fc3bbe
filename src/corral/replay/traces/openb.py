"""The openb cluster of 2023: nodes of several models, whole GPUs, parts of them and work without any.

The trace has no queues; the class of service (LS, BE, …) stands in for one. What never got a place in the
record has no duration and is left out.
"""

from pathlib import Path

from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.refusals import Invalid
from corral.core.workloads import DeviceRequest, Request
from corral.replay.jobs import Job, Trace
from corral.replay.traces.rows import Row, read_rows

COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "qos", "creation_time", "deletion_time")
NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
NODE_FILE = "openb_node_list_gpu_node.csv"
PODS_PER_NODE = 1001

# The lists do not say how much memory a device has; these sizes are assumed.
DEVICE_MIB = {
    "A10": 24576,
    "G2": 24576,
    "G3": 81920,
    "P100": 16384,
    "T4": 16384,
    "V100M16": 16384,
    "V100M32": 32768,
}

WHERE = (
    "The openb lists are part of Alibaba's cluster-trace-gpu-v2023:"
    " https://github.com/alibaba/clusterdata, folder cluster-trace-gpu-v2023/csv."
)


def read_openb(file: Path) -> Trace:
    """A task list, with the node list beside it."""
    jobs = []
    left_out = 0
    for row in read_rows(file, COLUMNS):
        job = _job(row)
        if job is None:
            left_out += 1
        else:
            jobs.append(job)
    if not jobs:
        raise Invalid.field(str(file), "No task of the list ever ran.", WHERE)
    nodes = file.parent / NODE_FILE
    notes = (f"{left_out} tasks that never got a place in the record are left out.",) if left_out else ()
    return Trace(
        name=f"openb {file.stem.removeprefix('openb_pod_list_')}",
        jobs=tuple(sorted(jobs, key=lambda job: (job.arrives, job.name))),
        nodes=read_openb_nodes(nodes) if nodes.is_file() else (),
        notes=notes,
    )


def read_openb_nodes(file: Path) -> tuple[Node, ...]:
    return tuple(_node(row) for row in read_rows(file, NODE_COLUMNS))


def _node(row: Row) -> Node:
    model = row.optional("model")
    count = row.whole("gpu")
    if count and model not in DEVICE_MIB:
        raise row.wrong("model", f"{model!r} is unknown", f"Known are {', '.join(DEVICE_MIB)}.")
    return Node(
        name=row.text("sn"),
        cpu_milli=row.whole("cpu_milli"),
        memory_mib=row.whole("memory_mib"),
        pods=PODS_PER_NODE,
        devices=tuple(Device(f"gpu{index}", DEVICE_MIB[model], model) for index in range(count)),
    )


def _job(row: Row) -> Job | None:
    if row.optional("pod_phase") == "Pending":
        return None
    gpus = row.whole("num_gpu")
    arrives = row.seconds("creation_time")
    began = row.seconds("scheduled_time") if row.optional("scheduled_time") else arrives
    return Job(
        name=row.text("name"),
        queue=row.text("qos"),
        arrives=arrives,
        work_seconds=max(1, row.seconds("deletion_time") - began),
        request=Request(row.whole("cpu_milli"), row.whole("memory_mib"), _devices(row, gpus)),
    )


def _devices(row: Row, gpus: int) -> DeviceRequest | None:
    if not gpus:
        return None
    milli = row.whole("gpu_milli", least=1)
    models = tuple(sorted(set(filter(None, row.optional("gpu_spec").split("|")))))
    return DeviceRequest(gpus, fraction_milli=milli if milli < 1000 else None, models=models)
