"""What `corral simulate` says: how far it has come, a comparison of policies, each queue."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from types import TracebackType
from typing import Any, Self

from corral.cli.output import print_table, say
from corral.cli.status_line import StatusLine
from corral.replay.jobs import Trace
from corral.replay.summary import Summary, WorkSummary
from corral.replay.words import duration, percent

_SECONDS_BETWEEN = 0.5


class Progress:
    """One line on a terminal's stderr, written over and taken away at the end; silent elsewhere."""

    def __init__(self, policy: str) -> None:
        self._policy = policy
        self._shown = 0.0
        self._line = StatusLine()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.clear()

    def show(self, done: int, of: int) -> None:
        now = time.monotonic()
        if self._line.on_terminal and now - self._shown >= _SECONDS_BETWEEN:
            self._line.show(f"{self._policy}: {done:,} of {of:,} workloads")
            self._shown = now


def document(trace: Trace, workloads: int, nodes: int, summaries: Sequence[Summary]) -> dict[str, Any]:
    """The same for programs; durations in seconds."""
    return {
        "simulated": True,
        "work": trace.name,
        "workloads": workloads,
        "nodes": nodes,
        "gpus": summaries[0].gpus,
        "notes": list(trace.notes),
        "policies": [asdict(summary) for summary in summaries],
    }


def show(trace: Trace, workloads: int, nodes: int, summaries: Sequence[Summary]) -> None:
    say(
        f"Simulated: {workloads:,} workloads of {trace.name}"
        f" on {nodes:,} nodes with {summaries[0].gpus:,} GPUs."
    )
    for note in trace.notes:
        say(note)
    say("")
    print_table(("", *(summary.policy for summary in summaries)), _facts(summaries), empty="")
    for summary in summaries:
        say("")
        say(f"{summary.policy}, by queue")
        print_table(
            (
                "Queue",
                "Guarantee",
                "Workloads",
                "Never started",
                "Wait mean",
                "p50",
                "p99",
                "Completion mean",
                "p50",
                "p99",
                "Evictions",
                "Of its share",
            ),
            [_queue(queue) for queue in summary.queues],
            empty="There is no queue.",
        )


def _facts(summaries: Sequence[Summary]) -> list[tuple[str, ...]]:
    return [(name, *(value(summary) for summary in summaries)) for name, value in FACTS.items()]


def _worst_share(summary: Summary) -> str:
    served = [queue for queue in summary.queues if queue.of_share_percent is not None]
    if not served:
        return ""
    worst = min(served, key=lambda queue: (queue.of_share_percent or 0.0, queue.queue or ""))
    return f"{percent(worst.of_share_percent)} ({worst.queue})"


FACTS: dict[str, Callable[[Summary], str]] = {
    "Allocated": lambda summary: percent(summary.allocated_percent),
    "Mean wait": lambda summary: duration(summary.all.wait.mean),
    "Wait, half below": lambda summary: duration(summary.all.wait.p50),
    "Wait, 99 of 100 below": lambda summary: duration(summary.all.wait.p99),
    "Mean wait with resumes": lambda summary: duration(summary.all.waited.mean),
    "Mean completion": lambda summary: duration(summary.all.completion.mean),
    "Never started": lambda summary: f"{summary.all.never_started:,}",
    "Evictions": lambda summary: f"{summary.all.evictions:,}",
    "Work lost": lambda summary: f"{summary.all.lost_gpu_hours:,.1f} GPU-h",
    "Least of its share": _worst_share,
    "Idle on partly used nodes": lambda summary: percent(summary.fragmented_percent),
}


def _queue(queue: WorkSummary) -> tuple[object, ...]:
    guarantee = queue.guarantee_gpus
    return (
        queue.queue,
        "none" if guarantee is None else f"{guarantee:,.0f} GPUs",
        f"{queue.workloads:,}",
        f"{queue.never_started:,}",
        duration(queue.wait.mean),
        duration(queue.wait.p50),
        duration(queue.wait.p99),
        duration(queue.completion.mean),
        duration(queue.completion.p50),
        duration(queue.completion.p99),
        f"{queue.evictions:,}",
        percent(queue.of_share_percent),
    )
