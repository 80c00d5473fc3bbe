"""The simulated engine does what every engine does, and fails as it is told to."""

import pytest

from corral.engines.interface import Ending, RunPhase, Start
from corral.engines.simulated import Faults, Program, SimulatedEngine
from tests.engines.engine_suite import (
    GRACE_SECONDS,
    NODES,
    WORK_SECONDS,
    EngineSuite,
    Place,
    everything,
    start,
)


def program_of(begun: Start) -> Program:
    return Program(None if "endless" in begun.run else WORK_SECONDS, leave_seconds=20)


def engine_with(faults: Faults, seed: int = 0) -> SimulatedEngine:
    return SimulatedEngine(NODES, program_of, faults=faults, seed=seed)


class SimulatedPlace(Place):
    def __init__(self) -> None:
        self.engine: SimulatedEngine = engine_with(Faults())

    async def pass_time(self, seconds: int) -> None:
        self.engine.advance(self.engine.now + seconds)

    async def lose(self, node: str) -> None:
        self.engine.lose(node)

    async def bring_back(self, node: str) -> None:
        self.engine.bring_back(node)

    async def forget_what_was_told(self) -> None:
        self.engine.restart("another")


class TestSimulatedEngine(EngineSuite):
    @pytest.fixture
    async def place(self) -> Place:
        return SimulatedPlace()


async def test_grace_ends_what_would_save_for_longer() -> None:
    engine = SimulatedEngine(NODES, lambda _: Program(leave_seconds=500))
    await engine.start([start("a")])
    engine.advance(1)
    await engine.signal(["a"], GRACE_SECONDS)
    engine.advance(GRACE_SECONDS + 1)
    assert (await everything(engine))["a"].ending is Ending.SUSPENDED


async def test_slow_release_holds_its_device_longer_than_the_grace() -> None:
    engine = engine_with(Faults(slow_release_ppm=1_000_000, slow_release_seconds=600))
    await engine.start([start("a")])
    engine.advance(1)
    await engine.signal(["a"], GRACE_SECONDS)
    engine.advance(GRACE_SECONDS + 599)
    assert (await everything(engine))["a"].phase is RunPhase.LEAVING
    await engine.start([start("b")])
    assert (await everything(engine))["b"].ending is Ending.REFUSED
    engine.advance(GRACE_SECONDS + 601)
    assert (await everything(engine))["a"].ending is Ending.SUSPENDED


async def test_stuck_release_stays_until_it_is_freed() -> None:
    engine = engine_with(Faults(stuck_release_ppm=1_000_000))
    await engine.start([start("a")])
    engine.advance(1)
    await engine.signal(["a"], GRACE_SECONDS)
    engine.advance(1_000_000)
    assert (await everything(engine))["a"].phase is RunPhase.LEAVING
    engine.free("a")
    assert (await everything(engine))["a"].ending is Ending.SUSPENDED


async def test_start_that_is_to_be_refused_is_refused_once() -> None:
    engine = engine_with(Faults())
    engine.refuse("a", "no image")
    await engine.start([start("a"), start("b", device="g1")])
    runs = await everything(engine)
    assert (runs["a"].ending, runs["a"].detail) == (Ending.REFUSED, "no image")
    assert runs["b"].phase is RunPhase.STARTING


async def endings(seed: int) -> list[Ending | None]:
    engine = engine_with(Faults(refused_ppm=300_000), seed)
    for number in range(40):
        await engine.start([start(f"run-{number}", mib=1)])
    engine.advance(WORK_SECONDS + 1)
    return [run.ending for _, run in sorted((await everything(engine)).items())]


async def test_same_seed_same_luck() -> None:
    assert await endings(1) == await endings(1)
    assert await endings(1) != await endings(2)
    assert set(await endings(1)) == {Ending.REFUSED, Ending.SUCCEEDED}


async def test_nodes_are_lost_and_come_back_by_chance() -> None:
    engine = engine_with(Faults(node_lost_every_seconds=10_000, node_away_seconds=500))
    counts = []
    for moment in range(0, 200_000, 250):
        engine.advance(moment)
        counts.append(len((await engine.inventory()).nodes))
    assert {1, 2} <= set(counts)
    away = counts.count(1) + 2 * counts.count(0)
    assert 0.5 < away / (2 * len(counts) * 500 / 10_500) < 2
