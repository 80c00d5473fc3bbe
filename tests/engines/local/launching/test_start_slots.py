"""Starts of one person do not hold up those of others."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corral.engines.interface import RunPhase, Start
from corral.engines.local.engine import STARTS_AT_A_TIME, STARTS_OF_A_PERSON
from corral.engines.local.files.workspaces import Workspaces
from corral.engines.local.launching.start_slots import StartSlots
from tests.engines.local.places import LocalPlace, local_place


def start_of(local: LocalPlace, owner: str, name: str) -> Start:
    start = local.sized(name, "true")
    assert start.task is not None
    return replace(start, task=replace(start.task, owner=owner))


async def test_slow_unpackings_of_one_person_do_not_hold_up_others(monkeypatch: pytest.MonkeyPatch) -> None:
    provide, began, goes_on = Workspaces.provide, threading.Event(), threading.Event()

    def provide_slowly(self: Workspaces, name: str, *rest: Any) -> Path:
        if name.startswith("slow"):
            began.set()
            assert goes_on.wait(20)
        return provide(self, name, *rest)

    monkeypatch.setattr(Workspaces, "provide", provide_slowly)
    async with local_place() as local:
        slow = [start_of(local, "ada", f"slow-{number}") for number in range(2 * STARTS_AT_A_TIME)]
        starting = asyncio.create_task(local.engine.start(slow))
        try:
            assert await asyncio.to_thread(began.wait, 20)
            async with asyncio.timeout(10):
                await local.finish(start_of(local, "ben", "quick"))
            assert not starting.done()
        finally:
            goes_on.set()
        await starting
        for start in slow:
            await local.reach(start.run, RunPhase.ENDED)


async def test_who_has_the_fewest_under_way_is_next() -> None:
    turns, order, goes_on = StartSlots(2, 2), [], asyncio.Event()

    async def take(person: str, wait: bool) -> None:
        async with turns.taken(person):
            order.append(person)
            if wait:
                await goes_on.wait()

    tasks = [asyncio.create_task(take("ada", True)) for _ in range(2)]
    tasks += [asyncio.create_task(take(person, False)) for person in ("ada", "ada", "ben")]
    await asyncio.sleep(0)
    assert order == ["ada", "ada"]
    goes_on.set()
    await asyncio.gather(*tasks)
    assert order == ["ada", "ada", "ben", "ada", "ada"]


async def test_turn_that_is_no_longer_wanted_goes_to_others() -> None:
    turns, goes_on, had = StartSlots(1, 1), asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        async with turns.taken("ada"):
            await goes_on.wait()

    async def take() -> None:
        async with turns.taken("ben"):
            had.set()

    first = asyncio.create_task(hold())
    gone = [asyncio.create_task(take()) for _ in range(2)]
    last = asyncio.create_task(take())
    await asyncio.sleep(0)
    gone[0].cancel()
    await asyncio.sleep(0)
    goes_on.set()
    await first  # by now the second was called
    gone[1].cancel()
    await asyncio.gather(*gone, return_exceptions=True)
    async with asyncio.timeout(5):
        await last
    assert had.is_set()


def test_nobody_can_take_every_place() -> None:
    assert STARTS_OF_A_PERSON < STARTS_AT_A_TIME
