"""Which workload the planner cannot bear: found by planning without some of them, in planners of their own.

A plan fails when the planner's process ends (whatever it died of), when it refuses, or when it finds no end.
Whoever was fed last stands last, so that the first half that is tried is the one that went well before.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from corral.control.feed import PlannerFeed
from corral.control.planner import Planner, PlannerGoneError, PlannerRefusedError
from corral.scheduling.live.live_planner import Load, MakePlan

MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Culprit:
    workload: str
    detail: str


Trial = Callable[[frozenset[str]], Awaitable[str | None]]
"""Plans with these workloads alone; says why that failed, None if it did not."""


async def find_culprits(
    suspects: Sequence[str], trial: Trial, queue_of: Callable[[str], str]
) -> list[Culprit] | None:
    """Those without whom a plan can be made, not more than a few; None if none can be made without anybody.

    An empty list says that all together did not fail.
    """
    if await trial(frozenset()) is not None:
        return None
    left, found = list(suspects), list[Culprit]()
    while len(found) < MOST_AT_ONCE:
        detail = await trial(frozenset(left))
        if detail is None:
            break
        good, bad = 0, len(left)
        while bad - good > 1:
            middle = (good + bad) // 2
            failed = await trial(frozenset(left[:middle]))
            if failed is None:
                good = middle
            else:
                bad, detail = middle, failed
        alone = detail if bad == 1 else await trial(frozenset({left[good]}))
        if alone is None:
            # It fails with many others only, and may be a healthy one of somebody who has little.
            good = _newest_of_the_largest(left[:bad], queue_of)
        found.append(Culprit(left.pop(good), alone or detail))
    return found


def _newest_of_the_largest(names: Sequence[str], queue_of: Callable[[str], str]) -> int:
    """The position of the last workload of the queue that has most of these; of equals, the last one."""
    counts = Counter(map(queue_of, names))
    return max(range(len(names)), key=lambda position: (counts[queue_of(names[position])], position))


def trial_of(fresh: PlannerFeed, now: int, make: Callable[[], Planner], seconds: float) -> Trial:
    """Trials of everything that the planner would be told, each in a planner that is thrown away.

    `seconds` are those that a plan has: a trial with less would blame work that is only slow to plan.
    """
    load = fresh.message
    assert isinstance(load, Load), "a trial begins with everything"

    async def trial(names: frozenset[str]) -> str | None:
        chosen = tuple(each for each in load.snapshot.workloads if each.name in names)
        out = tuple(each for each in load.out if each.name in names)
        claims = tuple(each for each in fresh.claims if each.workload in names)
        part = replace(load, snapshot=replace(load.snapshot, workloads=chosen), out=out)
        planner = make()
        try:
            async with asyncio.timeout(seconds):
                await planner.ask(part)
                await planner.ask(MakePlan(now, claims))
        except PlannerGoneError:
            return "the planner ends when it looks at it"
        except PlannerRefusedError as refused:
            return f"the planner refuses it: {refused}".rstrip(".")
        except TimeoutError:
            return f"the planner finds no plan with it in {seconds:g} s"
        finally:
            await planner.close()
        return None

    return trial
