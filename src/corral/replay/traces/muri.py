"""The job sets of Muri (SIGCOMM'22) for 64 GPUs; times in milliseconds, all in one queue."""

from pathlib import Path

from corral.core.refusals import Invalid
from corral.core.workloads import Request
from corral.replay.jobs import Job, Trace, gang
from corral.replay.nodes import make_nodes
from corral.replay.traces.rows import read_rows

COLUMNS = ("job_id", "num_gpu", "submit_time", "duration")
QUEUE = "work"
NODES, GPUS_PER_NODE = 8, 8

WHERE = "The job sets are part of https://github.com/Rivendile/Muri (Apache-2.0), folder workloads."


def read_muri(file: Path) -> Trace:
    jobs = []
    for row in read_rows(file, COLUMNS):
        replicas, devices = gang(row.whole("num_gpu", least=1), GPUS_PER_NODE)
        jobs.append(
            Job(
                name=f"muri-{row.whole('job_id'):05}",
                queue=QUEUE,
                arrives=round(row.number("submit_time") / 1000),
                work_seconds=max(1, round(row.number("duration") / 1000)),
                request=Request(devices=devices),
                replicas=replicas,
            )
        )
    if not jobs:
        raise Invalid.field(str(file), "The job set is empty.", WHERE)
    return Trace(
        name=f"Muri {file.stem}",
        jobs=tuple(sorted(jobs, key=lambda job: (job.arrives, job.name))),
        nodes=make_nodes(NODES, GPUS_PER_NODE, "V100", 32768),
        guarantees={QUEUE: NODES * GPUS_PER_NODE},
    )
