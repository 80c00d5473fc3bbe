"""How much of a cluster in use is allocated: work arrives and leaves, and what arrives may change.

Tasks of an openb list arrive one by one and live for an exponential time, so that 115 % of the capacity is
asked for in the long run; what fits nowhere is dropped. From half of the arrivals on, tasks may come from
another list. In the cases "mib", shares are slices in MiB of a 16 GiB device, on devices of 16 to 80 GiB.
Reported are the last quarter's mean of the allocated GPU and the share of its GPU tasks that ran. Every
policy sees the same arrivals. FGD is told the first list beforehand and knows no MiB; Corral learns.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import openb, policies, report
from benchmarks.arrays import NodeArrays
from benchmarks.placement import POLICIES, Maker, chosen
from corral.core.mixes import WorkClass
from corral.core.resources import WHOLE_DEVICE_MILLI

DEMAND = 1.15
SLICED_DEVICE_MIB = 16_384
CASES = (
    "default",
    "default to multigpu50",
    "multigpu50 to default",
    "default to gpushare100",
    "mib default",
    "mib default to gpushare100",
)


def main() -> None:
    arguments = report.parser("drift", __doc__ or "")
    arguments.add_argument(
        "--traces", type=Path, required=True, metavar="DIR", help="folder of the openb lists"
    )
    arguments.add_argument("--cases", default=",".join(CASES), help="cases, joined by commas")
    arguments.add_argument("--policies", default="corral,fgd,bestfit", help="policies, joined by commas")
    arguments.add_argument("--seeds", type=int, default=3, metavar="N", help="runs per case (default 3)")
    arguments.add_argument("--first-seed", type=int, default=0, metavar="S", help="seed of the first run")
    arguments.add_argument("--arrivals", type=int, default=24_000, metavar="N", help="tasks that arrive")
    options = arguments.parse_args()
    folder = openb.find_folder(options.traces)
    nodes = openb.read_nodes(folder)
    rows = []
    for case in chosen(options.cases, CASES, "--cases"):
        words = case.removeprefix("mib ").split(" to ")
        lists = [openb.read_tasks(folder, name) for name in (words[0], words[-1])]
        if case.startswith("mib "):
            lists = [[_in_mib(work) for work in tasks] for tasks in lists]
        for name in chosen(options.policies, tuple(POLICIES), "--policies"):
            if name == "fgd" and case.startswith("mib "):
                continue
            seeds = range(options.first_seed, options.first_seed + options.seeds)
            found = [run(POLICIES[name], nodes, lists, seed, options.arrivals) for seed in seeds]
            allocated, admitted, rate = (sum(column) / len(found) for column in zip(*found, strict=True))
            rows.append(
                {
                    "case": case,
                    "policy": name,
                    "allocated": round(100 * allocated, 2),
                    "admitted": round(100 * admitted, 2),
                    "seeds": len(found),
                    "decisions_per_cpu_second": round(rate),
                }
            )
    report.show("drift", rows, options.json)


def run(
    maker: Maker, nodes: NodeArrays, lists: Sequence[Sequence[WorkClass]], seed: int, arrivals: int
) -> tuple[float, float, float]:
    """Allocated and admitted over the last quarter, and decisions per CPU second."""
    random = np.random.default_rng([seed, 2])
    policy = maker(openb.reorder(nodes, random.permutation(len(nodes)).tolist()), lists[0], seed)
    drawn = random.random(arrivals)
    lives = random.exponential(1.0, arrivals)
    living: list[tuple[float, int, WorkClass, policies.Place, int]] = []
    lengths = [DEMAND * nodes.capacity_milli / np.mean([_milli(work) for work in tasks]) for tasks in lists]
    held = total = asked = ran = 0
    started = time.process_time()
    for number in range(arrivals):
        half = 2 * number // arrivals
        while living and living[0][0] <= number:
            _, _, work, place, milli = heapq.heappop(living)
            policy.release(work, place)
            held -= milli
        work = lists[half][int(drawn[number] * len(lists[half]))]
        found = policy.offer(work)
        if found is not None:
            milli = work.gpus * work.milli_on(_memory_mib(nodes, policy, found))
            held += milli
            heapq.heappush(living, (number + lives[number] * lengths[half], number, work, found, milli))
        if 4 * number >= 3 * arrivals:
            total += held
            asked += work.gpus > 0
            ran += work.gpus > 0 and found is not None
    spent = time.process_time() - started
    quarter = arrivals - 3 * arrivals // 4
    return total / quarter / nodes.capacity_milli, ran / max(asked, 1), arrivals / spent


def _memory_mib(nodes: NodeArrays, policy: policies.Policy, place: policies.Place) -> int:
    return int(nodes.models[policy.nodes.model[place.node]].memory_mib)


def _milli(work: WorkClass) -> int:
    return work.gpus * work.milli_on(SLICED_DEVICE_MIB)


def _in_mib(work: WorkClass) -> WorkClass:
    if not work.gpus or work.gpu_milli == WHOLE_DEVICE_MILLI:
        return work
    return replace(work, gpu_milli=0, slice_mib=work.gpu_milli * SLICED_DEVICE_MIB // WHOLE_DEVICE_MILLI)


if __name__ == "__main__":
    main()
