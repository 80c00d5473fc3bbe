"""The planner is asked by everybody: nobody has it for themselves, and no question holds up planning."""

import asyncio
from typing import Any

import pytest

from corral.control import schedule
from corral.control.questions import (
    LEAST_COST_SECONDS,
    MOST_SECONDS,
    OPEN_AT_ONCE,
    REGAINED_PER_SECOND,
    AskedTooMuch,
    Questions,
)
from corral.core.concurrency import TooManyOpen
from corral.scheduling.live.live_planner import Probe
from tests.campus import refused
from tests.control.ground import Ground

DOCUMENT = {
    "name": "x",
    "command": ["true"],
    "resources": {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"count": 1}},
}


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


async def _ask(questions: Questions, person: str, clock: Clock, seconds: float = 0.0) -> None:
    async with questions.turn(person):
        clock.now += seconds


async def test_who_asks_without_end_is_refused_and_others_are_not() -> None:
    clock = Clock()
    questions = Questions(clock)
    for _ in range(round(MOST_SECONDS / LEAST_COST_SECONDS) + 1):
        await _ask(questions, "greedy", clock)
    with pytest.raises(AskedTooMuch) as refusal:
        await _ask(questions, "greedy", clock)
    assert refusal.value.headers == {"Retry-After": "1"}
    await _ask(questions, "other", clock)
    clock.now += LEAST_COST_SECONDS / REGAINED_PER_SECOND + 0.01
    await _ask(questions, "greedy", clock)


async def test_questions_count_by_what_they_cost() -> None:
    clock = Clock()
    questions = Questions(clock)
    await _ask(questions, "ada", clock, seconds=3 * MOST_SECONDS)
    with pytest.raises(AskedTooMuch) as refusal:
        await _ask(questions, "ada", clock)
    clock.now += int((refusal.value.headers or {})["Retry-After"])
    await _ask(questions, "ada", clock)


async def test_few_questions_are_open_at_once_and_one_at_a_time() -> None:
    questions, may_end = Questions(), asyncio.Event()
    inside = 0

    async def ask(person: str) -> None:
        nonlocal inside
        async with questions.turn(person):
            inside += 1
            assert inside == 1
            await may_end.wait()
            inside -= 1

    asking = [asyncio.create_task(ask("ada")) for _ in range(OPEN_AT_ONCE)]
    asking.append(asyncio.create_task(ask("bert")))
    await asyncio.sleep(0)
    with pytest.raises(TooManyOpen):
        await ask("ada")
    may_end.set()
    await asyncio.gather(*asking)


@pytest.mark.sqlite
async def test_question_without_an_answer_is_broken_off_and_planning_goes_on(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    await ground.settle()
    admin = ground.campus.admin
    planner: Any = ground.zone.scheduler.planner
    ask = planner.ask

    async def endless(question: Any) -> Any:
        if isinstance(question, Probe):
            await asyncio.Event().wait()
        return await ask(question)

    monkeypatch.setattr(planner, "ask", endless)
    monkeypatch.setattr(schedule, "ANSWER_SECONDS", 0.05)
    refused(await admin.post("/training/probe", DOCUMENT), 503)
    work = await ground.submit(admin, "goes on")
    await ground.settle()
    assert await ground.state(work) == "starting"
