"""Made-up work, the same for the same seed: many short workloads, a few long ones, some gangs.

Arrivals follow the day: three times as many at noon as at night. Durations are drawn from a log-normal
distribution, as they are in most traces of training.
"""

import math
import random
from dataclasses import dataclass, fields

from corral.core.refusals import Invalid
from corral.core.workloads import Request
from corral.replay.jobs import Job, gang

_DAY = 86_400
_SIZES = ((1, 60), (2, 15), (4, 12), (8, 9), (16, 3), (32, 1))


@dataclass(frozen=True, slots=True)
class Recipe:
    """`load_percent` is the work that arrives against what the cluster can do in the time."""

    hours: int = 168
    load_percent: int = 90
    queues: int = 3
    median_minutes: int = 20


def make_jobs(recipe: Recipe, gpus: int, gpus_per_node: int, seed: int) -> tuple[Job, ...]:
    """Work for a cluster of so many GPUs."""
    luck = random.Random(f"synthetic/{seed}")  # noqa: S311 - a simulation, no secret
    seconds = recipe.hours * 3600
    wanted = gpus * seconds * recipe.load_percent // 100
    sizes = [(size, weight) for size, weight in _SIZES if size <= max(1, gpus // 2)]
    # Later queues are busier, so that some borrow what others do not use.
    weights = [queue + 1 for queue in range(recipe.queues)]
    drawn: list[tuple[int, int, int, int]] = []
    while wanted > 0:
        size = luck.choices([size for size, _ in sizes], [weight for _, weight in sizes])[0]
        work = max(60, round(luck.lognormvariate(math.log(recipe.median_minutes * 60), 1.6)))
        work = min(work, seconds // 2)
        queue = luck.choices(range(recipe.queues), weights)[0]
        drawn.append((_arrival(luck, seconds), size, work, queue))
        wanted -= size * work
    jobs = []
    for number, (arrives, size, work, queue) in enumerate(sorted(drawn)):
        replicas, devices = gang(size, gpus_per_node)
        name = f"work-{number:05}"
        jobs.append(Job(name, f"team-{queue + 1}", arrives, work, Request(devices=devices), replicas))
    return tuple(jobs)


def parse_recipe(text: str) -> Recipe:
    """`synthetic`, or with numbers: `synthetic:hours=24,load_percent=110`."""
    given = {}
    known = {field.name for field in fields(Recipe)}
    for part in text.split(":", 1)[1].split(",") if ":" in text else ():
        name, _, number = part.strip().partition("=")
        if name not in known or not number.isdecimal() or not 1 <= int(number) <= 100_000:
            raise Invalid.field(
                "jobs",
                f"{part.strip()!r} says nothing about made-up work.",
                f"Write a number from 1 to 100000 for: {', '.join(sorted(known))}.",
            )
        given[name] = int(number)
    return Recipe(**given)


def _arrival(luck: random.Random, seconds: int) -> int:
    while True:
        at = luck.randrange(seconds)
        if luck.random() * 3 < 2 - math.cos(2 * math.pi * (at % _DAY) / _DAY):
            return at
