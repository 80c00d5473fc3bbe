"""Which workload the planner cannot bear: found by planning without some of them, in planners of their own.

A plan fails when the planner's process ends (whatever it died of), when it refuses, or when it finds no end.
Whoever was fed last stands last, so that the first half that is tried is the one that went well before.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from corral.control.feed import PlannerFeed
from corral.control.planner import Planner, PlannerGoneError, PlannerRefusedError
from corral.scheduling.live.live_planner import Load, MakePlan

TRIAL_SECONDS = 20.0
MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Culprit:
    workload: str
    detail: str


Trial = Callable[[frozenset[str]], Awaitable[str | None]]
"""Plans with these workloads alone; says why that failed, None if it did not."""


async def find_culprits(suspects: Sequence[str], trial: Trial) -> list[Culprit] | None:
    """Those without whom a plan can be made, not more than a few; None if none can be made without anybody.

    Each is the one whose joining made the plan fail. An empty list says that all together did not fail.
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
        found.append(Culprit(left.pop(good), detail))
    return found


def trial_of(
    fed: PlannerFeed, now: int, make: Callable[[], Planner], seconds: float = TRIAL_SECONDS
) -> Trial:
    """Trials of everything that the planner would be told, each in a planner that is thrown away."""
    load = fed.message
    assert isinstance(load, Load), "a trial begins with everything"

    async def trial(names: frozenset[str]) -> str | None:
        chosen = tuple(each for each in load.snapshot.workloads if each.name in names)
        out = tuple(each for each in load.out if each.name in names)
        claims = tuple(each for each in fed.claims if each.workload in names)
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
