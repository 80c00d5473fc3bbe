"""How work waits: a fixed partition against sharing, backfill, and short work first, on public traces.

Philly: virtual clusters are queues, their nodes their guarantees. The trace counts far more nodes than its
work needs, so the same is also shown on a part of them. Muri: 64 GPUs, durations unknown to the scheduler.
All of it is replayed on virtual time by the scheduler itself; nothing is a model of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks import report
from corral.core.refusals import Invalid
from corral.replay.attained import NO_LEVELS, Levels
from corral.replay.harm import harm_of_sharing
from corral.replay.inputs import with_limits
from corral.replay.jobs import Job, Trace
from corral.replay.policy import SHORT_FIRST, Policy, parse_policy
from corral.replay.run import Replayed, replay
from corral.replay.settings import Settings
from corral.replay.summary import WorkSummary, spread
from corral.replay.traces.muri import read_muri
from corral.replay.traces.philly import JOB_FILE, read_philly

DAY = 86_400
PHILLY = Settings(grace_seconds=30, save_seconds=30, cycle_seconds=30)
# Every eviction costs what saving and resuming take: nothing is free.
MURI = Settings(grace_seconds=30, save_seconds=30, resume_seconds=60, cycle_seconds=60)
MURI_PUBLISHED = {"trace1": 3_330_371, "trace3": 347_213}
LARGE_GPUS = 8
UNSEEN_GPUS = 64
# By what of their work is known: nothing, or what they have held. The bounds in the middle, in GPU-seconds,
# are those that the simulator of Tiresias gives as an example.
ORDERS = {
    "oldest first": NO_LEVELS,
    "least attained, bounds of Tiresias": Levels((3600, 7200, 18000)),
    "short-first": SHORT_FIRST,
}
PARTS = ("sharing", "backfill", "estimates", "muri", "unseen")
WAITED_SECONDS = 60

Tables = dict[str, list[report.Row]]


def main() -> None:
    arguments = report.parser("queueing", __doc__ or "")
    arguments.add_argument("--traces", type=Path, required=True, metavar="DIR", help="folder of the traces")
    arguments.add_argument("--parts", default=",".join(PARTS), help=f"joined by commas: {', '.join(PARTS)}")
    arguments.add_argument("--from-day", type=int, default=24, metavar="N", help="of Philly (default 24)")
    arguments.add_argument("--days", type=int, default=3, metavar="N", help="of Philly (default 3)")
    arguments.add_argument("--full", action="store_true", help="the whole of Philly; takes half an hour")
    arguments.add_argument(
        "--shrink",
        type=int,
        metavar="N",
        help="of Philly's nodes every Nth, for backfill and estimates (default 8; with --full 4)",
    )
    options = arguments.parse_args()
    parts = [part.strip() for part in options.parts.split(",")]
    if unknown := [part for part in parts if part not in PARTS]:
        sys.exit(f"--parts: {unknown[0]!r} is unknown; known are {', '.join(PARTS)}")
    window = None if options.full else (options.from_day, options.from_day + options.days)
    # Of a few days an eighth is enough to make work wait; all of it would wait ever longer there.
    part = options.shrink or (4 if options.full else 8)
    size = f"1/{part} of the nodes"
    tables: Tables = {}
    try:
        if "sharing" in parts:
            tables |= sharing(_philly(options.traces, 1, window), "all nodes")
            tables |= sharing(_philly(options.traces, 4, window), "a quarter")
        if "backfill" in parts:
            tables |= backfill(_philly(options.traces, part, window), size)
        if "estimates" in parts:
            tables |= estimates(_philly(options.traces, part, window), size)
        if "muri" in parts:
            tables |= muri(options.traces)
        if "unseen" in parts:
            tables |= unseen(options.traces)
    except Invalid as error:
        sys.exit("\n".join(f"{each.field}: {each.message} {each.remedy}" for each in error.errors))
    _show(tables, options.json)


def sharing(trace: Trace, size: str) -> Tables:
    """Fixed against elastic: utilisation and waits, and whom sharing harmed."""
    results = {name: _replay(trace, name) for name in ("fixed", "elastic")}
    shown, queues = [], []
    for name, result in results.items():
        summary = result.summary
        shown.append(
            {
                "policy": name,
                "workloads": summary.all.workloads,
                "gpus": summary.gpus,
                "allocated_percent": summary.allocated_percent,
                **_waits(summary.all),
                "mean_with_resumes": summary.all.waited.mean,
                "never_started": summary.all.never_started,
                "evictions": summary.all.evictions,
                "cycles": summary.cycles,
                "plan_cpu_s": summary.plan_cpu_seconds,
            }
        )
        queues += [
            {
                "queue": queue.queue,
                "policy": name,
                "guarantee": queue.guarantee_gpus,
                "workloads": queue.workloads,
                **_waits(queue),
                "never_started": queue.never_started,
                "of_share_percent": queue.of_share_percent,
            }
            for queue in summary.queues
        ]
    queues.sort(key=lambda row: (str(row["queue"]), row["policy"] != "fixed"))
    title = f"Philly on {size}"
    return {
        f"{title}: fixed against elastic": shown,
        f"{title}: by queue": queues,
        f"{title}: harm": [_harm(trace, results["fixed"], results["elastic"])],
    }


def _harm(trace: Trace, fixed: Replayed, elastic: Replayed) -> report.Row:
    allowance = PHILLY.grace_seconds + PHILLY.cycle_seconds
    recording = elastic.recording
    found = harm_of_sharing(
        recording.jobs, fixed.recording.jobs, trace.guarantees, allowance, recording.ended
    )
    worst = found.harmed[0] if found.harmed else None
    return {
        "inside_guarantee": found.owed,
        "violations": len(found.harmed),
        "allowance_s": allowance,
        "worst_late_s": worst.late_seconds if worst else 0,
        "worst": worst.job.name if worst else "",
        "its_wait_s": worst.wait_seconds if worst else 0,
        "fixed_wait_s": worst.fixed_wait_seconds if worst else 0,
    }


def backfill(trace: Trace, nodes: str) -> Tables:
    """When large gangs start, with and without a time that is kept for the first in line."""
    limited = replace(trace, jobs=with_limits(trace.jobs, 2))
    rows = []
    for name in ("elastic", "elastic,backfill"):
        result = _replay(limited, name)
        for size, chosen in (("large", True), ("small", False)):
            waits = [
                record.first_start - record.job.arrives
                for record in result.recording.jobs
                if record.first_start is not None and (record.job.gpu_milli >= LARGE_GPUS * 1000) is chosen
            ]
            found = spread(waits)
            rows.append(
                {
                    "policy": name,
                    "workloads": f"{size} ({'at least' if chosen else 'below'} {LARGE_GPUS} GPUs)",
                    "started": len(waits),
                    "mean_wait_s": found.mean,
                    "p50_wait_s": found.p50,
                    "p99_wait_s": found.p99,
                    "longest_s": found.longest,
                    "allocated_percent": result.summary.allocated_percent,
                    "plan_cpu_s": result.summary.plan_cpu_seconds,
                }
            )
    return {f"Philly on {nodes}: backfill, run-time limits of twice the duration": rows}


def estimates(trace: Trace, nodes: str) -> Tables:
    """Starts as estimated at submission against what came, for work that waited."""
    limited = replace(trace, jobs=with_limits(trace.jobs, 2))
    told = replace(PHILLY, estimates=True)
    rows = [
        _errors("limits of twice the duration, as bounds", _replay(limited, "elastic", told)),
        _errors(
            "limits, and how much of them is used, learnt per queue",
            _replay(limited, "elastic", replace(told, learns=True)),
        ),
        _errors("nothing said, learnt per queue", _replay(trace, "elastic", replace(told, learns=True))),
    ]
    return {f"Philly on {nodes}: estimated starts of work that waited over {WAITED_SECONDS} s": rows}


def _errors(known: str, result: Replayed) -> report.Row:
    errors = []
    without = 0
    for record in result.recording.jobs:
        wait = None if record.first_start is None else record.first_start - record.job.arrives
        if wait is None or wait <= WAITED_SECONDS:
            continue
        starts_at = record.estimate.starts_at if record.estimate is not None else None
        if starts_at is None:
            without += 1
        else:
            errors.append((starts_at - record.job.arrives - wait) / wait)
    return {
        "known": known,
        "waited": len(errors) + without,
        "no_estimate": without,
        "median_signed_error": round(median(errors), 3) if errors else None,
        "median_absolute_error": round(median(map(abs, errors)), 3) if errors else None,
        "mean_wait_s": result.summary.all.wait.mean,
    }


def muri(traces: Path) -> Tables:
    """Mean completion time with durations unknown, against the published Tiresias."""
    rows = []
    for name, published in MURI_PUBLISHED.items():
        trace = read_muri(traces / "muri" / f"{name}.csv")
        for label in ("oldest first", "short-first"):
            row = _completion(trace, label)
            ratio = round(float(row["mean_completion_s"] or 0) / published, 3)
            rows.append(row | {"published_tiresias_s": published, "against_published": ratio})
    return {"Muri on 64 GPUs: durations unknown": rows}


def unseen(traces: Path) -> Tables:
    """The same on sets that were not looked at when the bounds of short-first were chosen.

    Each virtual cluster of Philly that has 64 GPUs on a quarter of the nodes, by itself.
    """
    philly = _philly(traces, 4, None)
    rows = []
    for queue in sorted(name for name, gpus in philly.guarantees.items() if gpus == UNSEEN_GPUS):
        jobs = tuple(job for job in philly.jobs if job.queue == queue)
        nodes = philly.nodes[: UNSEEN_GPUS // len(philly.nodes[0].devices)]
        trace = Trace(f"Philly, {queue[:6]}", jobs, nodes, {queue: UNSEEN_GPUS})
        rows += [_completion(trace, label) for label in ORDERS]
    return {f"Virtual clusters of Philly on {UNSEEN_GPUS} GPUs each: durations unknown": rows}


def _completion(trace: Trace, label: str) -> report.Row:
    chosen = replace(parse_policy("elastic"), name=label, levels=ORDERS[label])
    result = _replay(trace, chosen, MURI)
    work = result.summary.all
    return {
        "set": trace.name,
        "workloads": work.workloads,
        "policy": label,
        "mean_completion_s": round(work.completion.mean or 0.0),
        "evictions": work.evictions,
        "lost_gpu_hours": work.lost_gpu_hours,
        "held_gpu_hours": work.held_gpu_hours,
        "plan_cpu_s": result.summary.plan_cpu_seconds,
    }


def _replay(trace: Trace, policy: str | Policy, settings: Settings = PHILLY) -> Replayed:
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    return replay(chosen, trace.nodes, trace.guarantees, trace.jobs, settings, _progress(trace, chosen.name))


def _progress(trace: Trace, policy: str) -> Callable[[int, int], None]:
    def show(done: int, of: int) -> None:
        if done % 1000 < 100:
            print(f"{trace.name}, {policy}: {done:,} of {of:,}", file=sys.stderr, flush=True)

    return show


def _philly(traces: Path, divided_by: int, window: tuple[int, int] | None) -> Trace:
    folder = next((each for each in (traces / "philly", traces) if (each / JOB_FILE).is_file()), traces)
    trace = read_philly(folder / JOB_FILE, nodes_divided_by=divided_by)
    if window is None:
        return trace
    jobs = _between(trace.jobs, window[0] * DAY, window[1] * DAY)
    print(
        f"Philly: a sample, the {len(jobs):,} workloads of days {window[0]} to {window[1]}, on a cluster that"
        " is empty at first; --full takes all.",
        file=sys.stderr,
    )
    return replace(trace, jobs=jobs)


def _between(jobs: Iterable[Job], begin: int, end: int) -> tuple[Job, ...]:
    return tuple(replace(job, arrives=job.arrives - begin) for job in jobs if begin <= job.arrives < end)


def _waits(work: WorkSummary) -> dict[str, float | int | None]:
    return {"mean_wait_s": work.wait.mean, "p50_wait_s": work.wait.p50, "p99_wait_s": work.wait.p99}


def _show(tables: Tables, file: Path | None) -> None:
    for number, (title, rows) in enumerate(tables.items()):
        print(f"{'' if number == 0 else chr(10)}{title}")
        report.show("queueing", rows, None)
    if file is not None:
        rows: Sequence[report.Row] = [
            {"table": title, **row} for title, some in tables.items() for row in some
        ]
        file.write_text(json.dumps({"benchmark": "queueing", "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
