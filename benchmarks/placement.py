"""How much of a cluster can be allocated before work no longer fits: inflation runs on the openb lists.

The list's tasks arrive in random order on the empty cluster, then tasks drawn from it, until the GPU asked
for reaches 130 % of the capacity. What fits nowhere is dropped; nothing leaves. Every policy sees the same
arrivals. FGD is told the mix of tasks beforehand; Corral learns it from the arrivals.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import openb, policies, report
from benchmarks.arrays import NodeArrays
from corral.core.mixes import WorkClass

STOP_AT = 1.3

Maker = Callable[[NodeArrays, Sequence[WorkClass], int], policies.Policy]
POLICIES: dict[str, Maker] = {
    "corral": lambda nodes, _tasks, _seed: policies.Corral(nodes),
    "fgd": lambda nodes, tasks, _seed: policies.FGD(nodes, tasks),
    "bestfit": lambda nodes, _tasks, _seed: policies.BestFit(nodes),
    "random": lambda nodes, _tasks, seed: policies.Random(nodes, seed),
}


@dataclass(frozen=True)
class Arrivals:
    """One run: the rows of the list in their order, and the order of the nodes for ties."""

    seed: int
    rows: NDArray[np.int64]
    node_order: NDArray[np.int64]


@dataclass(frozen=True)
class Outcome:
    allocated_at_100: float
    allocated_at_130: float
    decisions: int
    cpu_seconds: float


def main() -> None:
    arguments = report.parser("placement", __doc__ or "")
    arguments.add_argument(
        "--traces", type=Path, required=True, metavar="DIR", help="folder of the openb lists"
    )
    arguments.add_argument("--lists", default=",".join(openb.LISTS), help="task lists, joined by commas")
    arguments.add_argument("--policies", default=",".join(POLICIES), help="policies, joined by commas")
    arguments.add_argument("--seeds", type=int, default=10, metavar="N", help="runs per list (default 10)")
    arguments.add_argument("--first-seed", type=int, default=0, metavar="S", help="seed of the first run")
    arguments.add_argument(
        "--arrivals",
        type=Path,
        metavar="FILE.npz",
        help="arrays orderS (rows of the list) and permS (rank of each node for ties) for each seed S",
    )
    options = arguments.parse_args()
    lists = chosen(options.lists, openb.LISTS, "--lists")
    names = chosen(options.policies, tuple(POLICIES), "--policies")
    folder = openb.find_folder(options.traces)
    nodes = openb.read_nodes(folder)
    rows: list[report.Row] = []
    for list_name in lists:
        tasks = openb.read_tasks(folder, list_name)
        if options.arrivals is not None:
            runs = list(read_arrivals(options.arrivals, len(tasks), len(nodes)))
        else:
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            runs = [draw_arrivals(seed, tasks, nodes) for seed in seeds]
        for name in names:
            print(f"{list_name}: {name}", file=sys.stderr, flush=True)
            outcomes = [inflate(POLICIES[name], nodes, tasks, run) for run in runs]
            rows.append(_row(list_name, name, outcomes))
    report.show("placement", rows, options.json)


def draw_arrivals(seed: int, tasks: Sequence[WorkClass], nodes: NodeArrays) -> Arrivals:
    random = np.random.default_rng(seed)
    node_order = random.permutation(len(nodes))
    shuffled = random.permutation(len(tasks))
    # Enough rows for any list; a run stops where 130 % have arrived.
    milli = np.array([work.gpus * work.gpu_milli for work in tasks])
    extra = int(STOP_AT * nodes.capacity_milli / milli.mean() * 1.1) + len(tasks)
    return Arrivals(seed, np.concatenate([shuffled, random.integers(len(tasks), size=extra)]), node_order)


def read_arrivals(file: Path, task_count: int, node_count: int) -> Iterator[Arrivals]:
    """The runs of a file, checked against the list and the cluster."""
    if not file.is_file():
        sys.exit(
            f"{file}: there is no such file; --arrivals wants an .npz with orderS and permS for each seed S"
        )
    with np.load(file) as arrays:
        seeds = sorted(int(found[1]) for name in arrays.files if (found := re.fullmatch(r"order(\d+)", name)))
        if not seeds:
            sys.exit(f"{file}: has no array orderS; it has {', '.join(arrays.files) or 'none at all'}")
        for seed in seeds:
            order = np.asarray(arrays[f"order{seed}"], np.int64)
            if f"perm{seed}" not in arrays.files:
                sys.exit(f"{file}: order{seed} has no perm{seed} beside it")
            rank = np.asarray(arrays[f"perm{seed}"], np.int64)
            if sorted(rank.tolist()) != list(range(node_count)):
                sys.exit(f"{file}: perm{seed} is not a rank for each of the {node_count} nodes")
            if not len(order) or order.min() < 0 or order.max() >= task_count:
                sys.exit(f"{file}: order{seed} names rows outside the list of {task_count} tasks")
            yield Arrivals(seed, order, np.argsort(rank))


def inflate(maker: Maker, nodes: NodeArrays, tasks: Sequence[WorkClass], run: Arrivals) -> Outcome:
    """One run of one policy; its CPU time includes all that it learns and keeps."""
    capacity = nodes.capacity_milli
    policy = maker(openb.reorder(nodes, run.node_order.tolist()), tasks, run.seed)
    arrived = allocated = 0
    at_100: float | None = None
    rows = run.rows.tolist()
    decisions = 0
    started = time.process_time()
    for row in rows:
        work = tasks[row]
        milli = work.gpus * work.gpu_milli
        arrived += milli
        decisions += 1
        if policy.offer(work) is not None:
            allocated += milli
        if at_100 is None and arrived >= capacity:
            at_100 = 100 * allocated / capacity
        if arrived >= STOP_AT * capacity:
            break
    spent = time.process_time() - started
    if at_100 is None:
        sys.exit(
            f"seed {run.seed}: its {len(rows)} arrivals ask for less than the capacity, {capacity} milli"
        )
    if arrived < STOP_AT * capacity:
        reached = f"{100 * arrived / capacity:.1f} %"
        print(f"seed {run.seed}: arrivals end at {reached}, allocated_at_130 is taken there", file=sys.stderr)
    return Outcome(at_100, 100 * allocated / capacity, decisions, spent)


def _row(list_name: str, policy: str, outcomes: Sequence[Outcome]) -> report.Row:
    return {
        "list": list_name,
        "policy": policy,
        "allocated_at_100": round(sum(one.allocated_at_100 for one in outcomes) / len(outcomes), 2),
        "allocated_at_130": round(sum(one.allocated_at_130 for one in outcomes) / len(outcomes), 2),
        "seeds": len(outcomes),
        "decisions_per_cpu_second": round(
            sum(one.decisions for one in outcomes) / max(sum(one.cpu_seconds for one in outcomes), 1e-9)
        ),
    }


def chosen(text: str, known: Sequence[str], option: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in known:
            sys.exit(f"{option}: {name!r} is unknown; known are {', '.join(known)}")
    return names


if __name__ == "__main__":
    main()
