"""The simulated engine does what every engine does, and fails as it is told to."""

import asyncio

import pytest

from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.refusals import Conflict
from corral.engines.interface import Ending, Run, RunPhase, Start
from corral.engines.reports import Message, MessageKind
from corral.engines.simulated import Faults, Program, SimulatedEngine
from corral.engines.tasks import Task
from tests.engines.engine_suite import BOUNDS, EngineSuite, Place, Reader, everything

NODES = tuple(
    Node(f"n{number}", 32000, 65536, devices=(Device("g0", 81920), Device("g1", 81920)))
    for number in range(2)
)
WORK_SECONDS = 100
GRACE_SECONDS = 30
LIMIT_SECONDS = 1000
ENDLESS = ("endless", "stubborn", "done")


def start(run: str, node: str = "n0", device: str = "g0", mib: int | None = None) -> Start:
    return Start(run, run, "0", 1, node, (DeviceUse(device, mib),), Task("ada", ("python",), run))


def program_of(begun: Start) -> Program:
    return Program(
        None if begun.run.startswith(ENDLESS) else WORK_SECONDS,
        leave_seconds=LIMIT_SECONDS * 2 if begun.run.startswith("stubborn") else 20,
        ending=Ending.FAILED if begun.run.startswith("failing") else Ending.SUCCEEDED,
    )


def engine_with(faults: Faults, seed: int = 0) -> SimulatedEngine:
    return SimulatedEngine(NODES, program_of, faults=faults, seed=seed, bounds=BOUNDS)


class SimulatedPlace(Place):
    node = "n0"
    devices = ("g0", "g1")
    device_memory_mib = 81920
    grace_seconds = GRACE_SECONDS

    def __init__(self) -> None:
        self.engine: SimulatedEngine = engine_with(Faults())

    def task(self, name: str) -> Task:
        return Task("ada", ("python",), name)

    async def reach(self, run: str, phase: RunPhase) -> Run:
        until = self.engine.now + LIMIT_SECONDS
        phases = list(RunPhase)
        while True:
            found = (await everything(self.engine))[run]
            if phases.index(found.phase) >= phases.index(phase):
                return found
            due = self.engine.next_change()
            assert due is not None, f"{run} stays {found.phase}"
            assert due <= until, f"{run} is {found.phase} for too long"
            self.engine.advance(due)

    async def said(self, run: str, kind: MessageKind) -> Message:
        self.engine.say(run, MessageKind.REPORT, {"step": 1, "loss": 0.5})
        self.engine.say(run, kind)
        return (await self.engine.messages({}))[-1]

    async def lose(self, run: str) -> None:
        self.engine.lose("n0")

    async def forget_what_was_told(self) -> None:
        self.engine.restart("another")


class TestSimulatedEngine(EngineSuite):
    @pytest.fixture
    async def place(self) -> Place:
        return SimulatedPlace()


async def test_runs_of_a_lost_node_are_lost_and_those_of_others_go_on() -> None:
    engine = engine_with(Faults())
    await engine.start([start("a", node="n0"), start("b", node="n1")])
    engine.advance(1)
    before = await engine.inventory()
    engine.lose("n0")
    runs = await everything(engine)
    assert (runs["a"].ending, runs["b"].phase) == (Ending.LOST, RunPhase.RUNNING)
    after = await engine.inventory()
    assert [node.name for node in after.nodes] == ["n1"]
    assert after.revision > before.revision


async def test_node_that_comes_back_takes_work_again() -> None:
    engine = engine_with(Faults())
    await engine.start([start("a")])
    engine.lose("n0")
    engine.bring_back("n0")
    assert {node.name for node in (await engine.inventory()).nodes} == {"n0", "n1"}
    await engine.start([start("b")])
    engine.advance(1)
    assert (await everything(engine))["b"].phase is RunPhase.RUNNING


async def test_device_that_is_not_there_is_refused() -> None:
    engine = engine_with(Faults())
    await engine.start([start("b", device="g9")])
    assert (await everything(engine))["b"].ending is Ending.REFUSED


async def test_nothing_can_be_executed_or_dialled() -> None:
    engine = engine_with(Faults())
    await engine.start([start("endless-a")])
    with pytest.raises(Conflict, match="nothing to execute in"):
        await engine.execute("endless-a", ["ls"])
    with pytest.raises(Conflict, match="Nothing listens"):
        await engine.dial("endless-a", 8888)


async def test_waiting_is_in_virtual_time() -> None:
    engine = engine_with(Faults())
    reader = Reader(engine)
    await reader.read()
    waiting = asyncio.create_task(engine.wait(reader.cursor, 60))
    await asyncio.sleep(0)
    engine.advance(59)
    await asyncio.sleep(0)
    assert not waiting.done()
    engine.advance(60)
    await waiting


async def test_output_is_followed_over_virtual_time() -> None:
    engine = engine_with(Faults())
    await engine.start([start("a")])
    followed = asyncio.create_task(collect(engine, "a"))
    for moment in range(0, WORK_SECONDS + 1, 10):
        engine.advance(moment)
        await asyncio.sleep(0)
    lines = (await followed).decode().splitlines()
    assert len(lines) == 2
    assert "simulated" in lines[0]
    assert lines[1] == f"It ended at {WORK_SECONDS}: succeeded."


async def collect(engine: SimulatedEngine, run: str) -> bytes:
    return b"".join([chunk.data async for chunk in engine.follow(run, 0)])


async def test_use_is_what_was_asked_for_over_the_time() -> None:
    engine = SimulatedEngine(NODES, program_of, ticks_per_second=1_000_000)
    await engine.start([start("a")])
    engine.advance(2_000_000)
    counters = (await engine.usage()).runs["a"]
    assert (counters.cpu_microseconds, counters.memory_bytes) == (2_000_000, 1024 * 1024 * 1024)
    engine.advance(WORK_SECONDS * 1_000_000)
    ended = (await everything(engine))["a"]
    assert ended.ended == WORK_SECONDS * 1_000_000
    assert ended.usage is not None
    assert ended.usage.cpu_microseconds == WORK_SECONDS * 1_000_000


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
