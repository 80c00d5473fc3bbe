"""What is compared, and the sentence that it comes to."""

from collections.abc import Callable, Sequence

from corral.replay.summary import Summary
from corral.replay.words import count, duration, gpu_hours, percent

Words = Callable[[float | None], str]

# What is compared, how it is told, and whether less of it is better.
FACTS: tuple[tuple[str, Callable[[Summary], float | None], Words, bool], ...] = (
    ("Allocated", lambda summary: summary.allocated_percent, percent, False),
    ("Mean wait", lambda summary: summary.all.wait.mean, duration, True),
    ("Longest of 100 waits", lambda summary: summary.all.wait.p99, duration, True),
    ("Mean completion", lambda summary: summary.all.completion.mean, duration, True),
    ("Never started", lambda summary: summary.all.never_started, count, True),
    ("Evictions", lambda summary: summary.all.evictions, count, True),
    ("Work lost", lambda summary: summary.all.lost_gpu_hours, gpu_hours, True),
    ("Idle on partly used nodes", lambda summary: summary.fragmented_percent, percent, True),
)


def answer_of(summaries: Sequence[Summary]) -> tuple[str, str]:
    """One sentence with numbers, and what it costs."""
    last = summaries[-1]
    wait, allocated = duration(last.all.wait.mean), percent(last.allocated_percent)
    if len(summaries) == 1:
        answer = (
            f"Work waits {wait or '0 s'} on average, and {allocated} of {last.gpus:,} GPUs are allocated."
        )
    else:
        first = summaries[0]
        answer = (
            f"With {last.policy}, work waits {wait} instead of {duration(first.all.wait.mean)} on average,"
            f" and {allocated} instead of {percent(first.allocated_percent)} of {last.gpus:,} GPUs are"
            " allocated."
        )
    lost = f"{last.all.lost_gpu_hours:,.1f} GPU-hours of work" if last.all.lost_gpu_hours else "no work"
    if last.all.evictions:
        return answer, f"It takes {last.all.evictions:,} evictions, which lose {lost}."
    return answer, "Nothing is evicted."


def judged(before: float | None, after: float | None, *, less_is_better: bool) -> str:
    if before is None or after is None or before == after:
        return "less"
    return "better" if (after < before) is less_is_better else "worse"


def change(before: float | None, after: float | None, words: Words) -> str:
    """Points for shares, the difference for counts, per cent for durations."""
    if before is None or after is None:
        return ""
    if before == after:
        return "same"
    sign = "+" if after > before else "\N{MINUS SIGN}"
    if words is percent:
        return f"{sign}{abs(after - before):.1f} points"
    if words is duration and before:
        return f"{sign}{100 * abs(after - before) / before:,.0f} %"
    return f"{sign}{words(abs(after - before))}"
