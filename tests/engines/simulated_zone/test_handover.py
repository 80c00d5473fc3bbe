"""Drivers come and go between any two calls, and act at the same time: nothing is lost, nothing doubled."""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from corral.core.devices import DeviceUse
from corral.engines.interface import Cursor, Ending, Run, RunPhase, Start
from corral.engines.simulated_zone.engine import SimulatedZoneEngine
from corral.engines.simulated_zone.rows import NodeState
from corral.engines.tasks import Simulation, Task
from corral.store.database import Database
from tests.clocks import ShiftedClock
from tests.engines.engine_suite import everything
from tests.engines.simulated_zone.places import DESCRIPTION, NODES, SimulatedZonePlace, make_zone, start_of

DEVICE_MIB = 80 * 1024
ACTIONS = {
    "start": 5,
    "sleep": 5,
    "read": 4,
    "repeat": 2,
    "signal": 2,
    "kill": 1,
    "forget": 2,
    "discard": 1,
    "lose": 1,
    "back": 2,
}


@dataclass
class Reader:
    """One that remembers every change it was told, and checks each against what it was told before."""

    cursor: Cursor | None = None
    told: dict[str, Run] = field(default_factory=dict)
    endings: Counter[str] = field(default_factory=Counter)
    starts: Counter[str] = field(default_factory=Counter)
    held: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)

    async def read(self, engine: SimulatedZoneEngine, starts: dict[str, Start]) -> None:
        observed = await engine.observe(self.cursor)
        assert observed.complete == (self.cursor is None)
        self.cursor = observed.cursor
        for run in observed.runs:
            self._hear(run, starts[run.run])

    def _hear(self, run: Run, start: Start) -> None:
        before = self.told.get(run.run)
        phases = list(RunPhase)
        assert before is None or phases.index(run.phase) > phases.index(before.phase), (before, run)
        assert before is None or run.since >= before.since
        self.told[run.run] = run
        self.starts[run.run] += run.phase is RunPhase.STARTING
        self.endings[run.run] += run.phase is RunPhase.ENDED
        for use in start.devices:
            held = self.held.setdefault((start.node, use.device), Counter())
            held[run.run] = 0 if run.phase is RunPhase.ENDED else use.memory_mib or DEVICE_MIB
            assert sum(held.values()) <= DEVICE_MIB, f"{use.device} is given twice: {held}"


class StillClock:
    """Time that passes only when the story says so."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


class Story:
    """A random sequence of calls, each by a driver that opened the zone just before."""

    def __init__(self, seed: int, databases: list[Database], clock: StillClock, zone_id: str) -> None:
        self.luck = random.Random(seed)
        self.databases = databases
        self.clock = clock
        self.zone_id = zone_id
        self.starts: dict[str, Start] = {}
        self.forgotten: set[str] = set()
        self.reader = Reader()

    def driver(self) -> SimulatedZoneEngine:
        return SimulatedZoneEngine(self.luck.choice(self.databases), self.zone_id, DESCRIPTION)

    async def act(self) -> None:
        match self.luck.choices(list(ACTIONS), list(ACTIONS.values()))[0]:
            case "start":
                await self.driver().start([self._new_start() for _ in range(self.luck.randint(1, 3))])
            case "repeat" if self.starts:
                await self.driver().start(self.luck.choices(list(self.starts.values()), k=3))
            case "signal":
                await self.driver().signal(self._some(), self.luck.choice([0, 3, 30]))
            case "kill":
                await self.driver().kill(self._some())
            case "forget":
                await self.driver().forget(self._told_ended())
            case "discard":
                await self.driver().discard(self._some())
            case "lose":
                await self.driver().set_node(self.luck.choice(NODES), NodeState(lost=True))
            case "back":
                await self.driver().set_node(self.luck.choice(NODES), NodeState())
            case "sleep":
                self.clock.now += timedelta(seconds=self.luck.choice([0.3, 1, 5, 20]))
            case _:
                await self.read()

    async def read(self) -> None:
        await self.reader.read(self.driver(), self.starts)

    def _new_start(self) -> Start:
        name = f"run-{len(self.starts)}"
        seconds = self.luck.choice([None, 0, 2, 10])
        simulation = Simulation(seconds, self.luck.randint(0, 1), save_seconds=self.luck.choice([0, 2, 99]))
        use = DeviceUse(f"gpu{self.luck.randint(0, 1)}", self.luck.choice([None, DEVICE_MIB // 2]))
        task = Task("ada", (), name, simulation=simulation)
        self.starts[name] = Start(name, name, "0", 1, self.luck.choice(NODES), (use,), task)
        return self.starts[name]

    def _some(self) -> list[str]:
        return self.luck.sample(sorted(self.starts), min(3, len(self.starts)))

    def _told_ended(self) -> list[str]:
        """Some of which the reader was told that they have ended."""
        ended = [name for name, run in self.reader.told.items() if run.phase is RunPhase.ENDED]
        chosen = self.luck.sample(ended, min(2, len(ended)))
        self.forgotten.update(chosen)
        return chosen


@pytest.mark.parametrize("seed", range(4))
async def test_any_sequence_of_calls_by_any_drivers_keeps_every_promise(
    seed: int, database: Database, database_url: str
) -> None:
    clock = StillClock()
    async with AsyncExitStack() as opened:
        databases = [Database(database_url, clock=clock) for _ in range(2)]
        for one in databases:
            opened.push_async_callback(one.close)
        story = Story(seed, databases, clock, await make_zone(database))
        for _ in range(90):
            await story.act()
        await story.read()
        whole = await everything(story.driver())
        reader = story.reader
        assert set(whole) == set(story.starts) - story.forgotten
        assert whole == {name: reader.told[name] for name in whole}
        assert max(reader.endings.values(), default=0) <= 1
        assert max(reader.starts.values(), default=0) <= 1
        for name in story.forgotten:
            assert reader.endings[name] == 1
        # Time alone ends what has a duration; what has none ends when it is told to.
        await story.driver().kill([name for name in whole if whole[name].phase is not RunPhase.ENDED])
        await story.read()
        assert {reader.endings[name] for name in story.starts} == {1}
        # Else the story would prove little.
        endings = {run.ending for run in reader.told.values()}
        assert {Ending.SUCCEEDED, Ending.SUSPENDED, Ending.REFUSED, Ending.LOST} <= endings
        assert len(story.forgotten) > 3


async def test_ending_that_was_not_told_is_not_forgotten(place: SimulatedZonePlace) -> None:
    await place.engine.start([start_of("a")])
    await place.another().observe()
    place.clock.advance(hours=1)
    await place.another().forget(["a"])
    assert (await everything(place.another()))["a"].ending is Ending.SUCCEEDED
    await place.another().forget(["a"])
    assert await everything(place.another()) == {}


async def test_two_drivers_at_the_same_time_start_once_and_share_no_device(
    place: SimulatedZonePlace, database_url: str, clock: ShiftedClock
) -> None:
    other = Database(database_url, clock=clock)
    try:
        engines = [place.engine, SimulatedZoneEngine(other, place.zone_id, DESCRIPTION)]
        await engines[0].observe()
        same = [start_of("endless-same", node=NODES[1])]
        rivals = [start_of(f"endless-{number}") for number in range(6)]
        await asyncio.gather(
            *(engine.start(same) for engine in engines),
            *(engines[number % 2].start([start]) for number, start in enumerate(rivals)),
        )
        for engine in engines:
            runs = await everything(engine)
            endings = Counter(runs[start.run].ending for start in rivals)
            assert endings == {None: 1, Ending.REFUSED: 5}
            assert runs["endless-same"].ending is None
    finally:
        await other.close()


async def test_readers_at_the_same_time_as_drivers_miss_nothing(
    place: SimulatedZonePlace, database_url: str, clock: ShiftedClock
) -> None:
    """Both read on while both act: each reader is told every change once, in order."""
    other = Database(database_url, clock=clock)
    try:
        engines = [place.engine, SimulatedZoneEngine(other, place.zone_id, DESCRIPTION)]
        starts = {f"run-{n}": start_of(f"run-{n}", Simulation(1), mib=1000) for n in range(12)}
        readers = [Reader(), Reader()]
        done = asyncio.Event()
        for reader in readers:
            await reader.read(engines[0], starts)

        async def read(reader: Reader, engine: SimulatedZoneEngine) -> None:
            while not done.is_set():
                await reader.read(engine, starts)
                clock.advance(seconds=0.05)

        async def act(engine: SimulatedZoneEngine, names: list[str]) -> None:
            for name in names:
                await engine.start([starts[name]])
                if name.endswith("3"):
                    await engine.kill([name])

        reading = [asyncio.create_task(read(*pair)) for pair in zip(readers, engines, strict=True)]
        names = list(starts)
        await asyncio.gather(act(engines[0], names[::2]), act(engines[1], names[1::2]))
        clock.advance(seconds=5)
        done.set()
        await asyncio.gather(*reading)
        for reader, engine in zip(readers, reversed(engines), strict=True):
            await reader.read(engine, starts)
            assert set(reader.endings.values()) == {1}
            assert set(reader.starts.values()) == {1}
            assert set(reader.told) == set(starts)
    finally:
        await other.close()


async def test_two_processes_that_open_a_new_zone_make_it_once(
    database: Database, database_url: str, clock: ShiftedClock
) -> None:
    zone_id = await make_zone(database, "new")
    other = Database(database_url, clock=clock)
    try:
        engines = [SimulatedZoneEngine(one, zone_id, DESCRIPTION) for one in (database, other) for _ in "ab"]
        seen = await asyncio.gather(*(engine.observe() for engine in engines))
        assert len({one.cursor.epoch for one in seen}) == 1
    finally:
        await other.close()
