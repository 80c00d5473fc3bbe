"""A custom table: in which queue work arrives, when, how long it takes and with how many GPUs."""

from pathlib import Path

from corral.core.refusals import Invalid
from corral.core.workloads import DeviceRequest, Request
from corral.replay.jobs import Job, Trace, gang
from corral.replay.traces.rows import Row, read_rows

COLUMNS = ("queue", "arrives", "seconds", "gpus")


def read_table(file: Path, *, gpus_per_node: int) -> Trace:
    """Further columns, each optional: name, priority, cpu_milli, memory_mib, checkpoint_seconds."""
    jobs: dict[str, Job] = {}
    for number, row in enumerate(read_rows(file, COLUMNS)):
        job = _job(row, number, gpus_per_node)
        if job.name in jobs:
            raise row.wrong("name", f"{job.name!r} is there twice", "Give each its own name.")
        jobs[job.name] = job
    if not jobs:
        raise Invalid.field(str(file), "The table is empty.", "Write a line for each workload.")
    ordered = sorted(jobs.values(), key=lambda job: (job.arrives, job.name))
    return Trace(name=file.name, jobs=tuple(ordered))


def _job(row: Row, number: int, gpus_per_node: int) -> Job:
    gpus = row.number("gpus")
    replicas, devices = 1, None
    if gpus >= 1:
        replicas, devices = gang(row.whole("gpus"), gpus_per_node)
    elif gpus > 0:
        devices = DeviceRequest(1, fraction_milli=max(1, round(gpus * 1000)))
    return Job(
        name=row.optional("name") or f"work-{number:05}",
        queue=row.text("queue"),
        arrives=row.seconds("arrives"),
        work_seconds=row.seconds("seconds", least=1),
        request=Request(_number(row, "cpu_milli"), _number(row, "memory_mib"), devices),
        replicas=replicas,
        priority=_number(row, "priority"),
        checkpoint_seconds=_number(row, "checkpoint_seconds"),
    )


def _number(row: Row, column: str) -> int:
    return row.whole(column) if row.optional(column) else 0
