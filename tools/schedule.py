"""Which stage starts when: as many side by side as keep the cores busy, and no more.

Standard library only.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Sequence
from typing import Protocol


class Runnable(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def cores(self) -> float: ...
    @property
    def after(self) -> tuple[str, ...]: ...


def next_to_start(
    waiting: Sequence[Runnable], running: Collection[Runnable], done: Collection[str], cores: float
) -> Runnable | None:
    """The first in order that has what it reads, and for which enough cores are idle; alone, any may run."""
    idle = cores - sum(one.cores for one in running)
    for one in waiting:
        if set(one.after) <= set(done) and (one.cores <= idle or not running):
            return one
    return None


def run_side_by_side(
    stages: Sequence[Runnable],
    run: Callable[[int], None],
    show: Callable[[int], None],
    *,
    cores: float,
) -> None:
    """Calls `run(index)` for every stage, and `show(index)` in order, as soon as those before it have ended.

    What a run raises is raised here, once nothing runs any more.
    """
    places = {stage.name: index for index, stage in enumerate(stages)}
    waiting, running, done = list(stages), list[Runnable](), set[str]()
    changed, failures, shown = threading.Condition(), list[BaseException](), 0

    def work(stage: Runnable) -> None:
        try:
            run(places[stage.name])
        except BaseException as error:  # noqa: BLE001 -- raised again below
            failures.append(error)
        with changed:
            running.remove(stage)
            done.add(stage.name)
            changed.notify()

    while True:
        with changed:
            while not failures and (stage := next_to_start(waiting, running, done, cores)) is not None:
                waiting.remove(stage)
                running.append(stage)
                threading.Thread(target=work, args=(stage,), name=stage.name, daemon=True).start()
            while shown < len(stages) and stages[shown].name in done:
                show(shown)
                shown += 1
            if not running:
                break
            changed.wait()
    if failures:
        raise failures[0]
