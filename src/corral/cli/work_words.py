"""Workloads in a few words: what they need, how old they are, how they ended."""

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise

from corral_sdk.models import Resources, Waiting, Workload, WorkloadDetail

from corral.core.durations import duration_words

__all__ = [
    "SIMULATED",
    "exit_code_of",
    "is_unplaced",
    "needs_words",
    "rate_words",
    "ready_words",
    "short_ids",
    "since_words",
    "size_words",
    "waiting_words",
    "where_words",
]

STOPPED = 128 + 15
LEAST_ID = 11  # the kind, and the time to the millisecond
SIMULATED = "Simulated GPUs: they schedule and meter; your code computes on the CPU."


def short_ids(works: Sequence[Workload]) -> dict[str, str]:
    """For a terminal: beginnings that tell them apart, which every command takes; elsewhere whole ids."""
    ids = sorted(work.id for work in works)
    if not sys.stdout.isatty():
        return {each: each for each in ids}
    alike = dict.fromkeys(ids, LEAST_ID)
    for one, other in pairwise(ids):
        shared = next((at for at, pair in enumerate(zip(one, other, strict=True)) if len({*pair}) > 1), 0) + 1
        alike[one], alike[other] = max(alike[one], shared), max(alike[other], shared)
    return {each: each[:length] for each, length in alike.items()}


def where_words(work: Workload) -> str:
    return f"{', '.join(work.nodes)} (simulated)" if work.simulated else ", ".join(work.nodes)


def ready_words(work: Workload) -> str:
    """`1/2`: how many of its replicas are ready; nothing where none could be."""
    if work.state not in ("starting", "running", "suspending", "stopping"):
        return ""
    return f"{work.ready_replicas}/{work.replicas}"


def needs_words(resources: Resources, replicas: int) -> str:
    """`8 GiB GPU`, `2 GPUs`, `4 cores`; with `3x` before it for replicas."""
    gpu = resources.gpu
    if gpu is None:
        cores = resources.cpu_milli / 1000
        what = f"{cores:g} core" if cores == 1 else f"{cores:g} cores"
    else:
        size = ""
        if gpu.memory_mib is not None:
            size = size_words(gpu.memory_mib)
        elif gpu.fraction_milli is not None:
            size = f"{gpu.fraction_milli / 10:g} %"
        elif gpu.profile is not None:
            size = gpu.profile
        if size:
            what = f"{gpu.count}x {size} GPU" if gpu.count > 1 else f"{size} GPU"
        else:
            what = f"{gpu.count} GPUs" if gpu.count > 1 else "1 GPU"
    return f"{replicas}x {what}" if replicas > 1 else what


def size_words(mib: int) -> str:
    return f"{mib / 1024:.4g} GiB" if mib >= 1024 else f"{mib} MiB"


def rate_words(bytes_per_second: float | None) -> str:
    if bytes_per_second is None:
        return "-"
    for unit, size in (("MB/s", 1_000_000), ("kB/s", 1000)):
        if bytes_per_second >= size:
            return f"{bytes_per_second / size:.1f} {unit}"
    return f"{bytes_per_second:.0f} B/s"


def since_words(time: datetime | None) -> str:
    """How long ago: `12 s`, `3 min`, `2 h`, `5 d`."""
    return "" if time is None else duration_words((datetime.now(UTC) - time).total_seconds(), units=1)


def exit_code_of(workload: WorkloadDetail) -> int:
    """The work's own exit code, 128 + the signal that ended it; 1 where it never came to one."""
    if workload.state == "succeeded":
        return 0
    ended = workload.attempts[-1].replicas if workload.attempts else ()
    for replica in sorted(ended, key=lambda one: one.end != "failed"):
        if replica.signal is not None:
            return 128 + replica.signal
        if replica.exit_code:
            return replica.exit_code
    return STOPPED if workload.state == "stopped" else 1


def is_unplaced(workload: Workload) -> bool:
    """It is not over, and nothing of it is on any node: it waits, or nothing could run it."""
    return workload.state in ("queued", "infeasible", "suspended")


def waiting_words(waiting: Waiting) -> str:
    """Why it has no place yet, its turn, and when it will probably start."""
    parts = [waiting.sentence]
    if waiting.in_queue is not None and waiting.in_queue.of > 1:
        parts.append(f"Number {waiting.in_queue.number} of {waiting.in_queue.of} in its queue.")
    if waiting.starts_at is not None:
        left = (waiting.starts_at - datetime.now(UTC)).total_seconds()
        parts.append(f"Start: probably in {duration_words(left)}.")
    return " ".join(parts)
