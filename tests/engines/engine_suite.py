"""What every engine must do: inherit `EngineSuite` and say how to make one and how to let things happen."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import pytest

from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.engines.interface import Cursor, Ending, Engine, Observation, Run, RunPhase, Start

NODES = tuple(
    Node(f"n{number}", 32000, 65536, devices=(Device("g0", 81920), Device("g1", 81920)))
    for number in range(2)
)
WORK_SECONDS = 100
GRACE_SECONDS = 30


def start(run: str, node: str = "n0", device: str = "g0", mib: int | None = None) -> Start:
    """A run that works for `WORK_SECONDS`; with "endless" in its name until it is told to go."""
    return Start(run, run.split("/")[0], run, 1, node, (DeviceUse(device, mib),))


class Place(ABC):
    """An engine with the nodes above, and the means of making things happen there."""

    engine: Engine

    @abstractmethod
    async def pass_time(self, seconds: int) -> None: ...

    @abstractmethod
    async def lose(self, node: str) -> None: ...

    @abstractmethod
    async def bring_back(self, node: str) -> None: ...

    @abstractmethod
    async def forget_what_was_told(self) -> None:
        """As after a restart of the engine: work goes on, but it no longer knows what it has told."""


@dataclass
class Reader:
    """Follows an engine as the control loop does: complete once, then changes."""

    engine: Engine
    cursor: Cursor | None = None

    async def read(self) -> Observation:
        observed = await self.engine.observe(self.cursor)
        self.cursor = observed.cursor
        return observed


async def everything(engine: Engine) -> dict[str, Run]:
    return {run.run: run for run in (await engine.observe()).runs}


class EngineSuite(ABC):
    @pytest.fixture
    @abstractmethod
    async def place(self) -> Place: ...

    async def test_inventory_names_every_node_with_its_devices(self, place: Place) -> None:
        inventory = await place.engine.inventory()
        assert {node.name: len(node.devices) for node in inventory.nodes} == {"n0": 2, "n1": 2}

    async def test_run_starts_works_and_succeeds(self, place: Place) -> None:
        await place.engine.start([start("a")])
        await place.pass_time(1)
        assert (await everything(place.engine))["a"].phase is RunPhase.RUNNING
        await place.pass_time(WORK_SECONDS)
        ended = (await everything(place.engine))["a"]
        assert (ended.phase, ended.ending) == (RunPhase.ENDED, Ending.SUCCEEDED)

    async def test_second_start_changes_nothing(self, place: Place) -> None:
        await place.engine.start([start("a")])
        await place.pass_time(60)
        await place.engine.start([start("a")])
        await place.pass_time(60)
        assert (await everything(place.engine))["a"].ending is Ending.SUCCEEDED

    async def test_what_has_ended_is_not_started_again(self, place: Place) -> None:
        await place.engine.start([start("a")])
        await place.pass_time(WORK_SECONDS + 1)
        await place.engine.start([start("a")])
        await place.pass_time(1)
        assert (await everything(place.engine))["a"].phase is RunPhase.ENDED
        await place.engine.forget(["a"])
        await place.engine.start([start("a")])
        await place.pass_time(1)
        assert "a" not in await everything(place.engine)

    async def test_first_observation_is_complete(self, place: Place) -> None:
        await place.engine.start([start("a"), start("b", device="g1")])
        await place.pass_time(1)
        observed = await place.engine.observe()
        assert observed.complete
        assert {run.run for run in observed.runs} == {"a", "b"}

    async def test_every_change_is_told_once_and_in_order(self, place: Place) -> None:
        reader = Reader(place.engine)
        await reader.read()
        told: list[Run] = []
        await place.engine.start([start("a")])
        for _ in range(WORK_SECONDS // 10 + 2):
            observed = await reader.read()
            assert not observed.complete
            told.extend(observed.runs)
            await place.pass_time(10)
        assert [run.phase for run in told] == [RunPhase.STARTING, RunPhase.RUNNING, RunPhase.ENDED]
        assert [run.since for run in told] == sorted(run.since for run in told)

    async def test_reading_again_from_the_same_place_tells_the_same(self, place: Place) -> None:
        first = await place.engine.observe()
        await place.engine.start([start("a")])
        await place.pass_time(1)
        once = await place.engine.observe(first.cursor)
        assert await place.engine.observe(first.cursor) == once
        assert once.runs

    async def test_unknown_cursor_is_answered_with_everything(self, place: Place) -> None:
        reader = Reader(place.engine)
        await place.engine.start([start("endless-a")])
        await reader.read()
        await place.forget_what_was_told()
        observed = await reader.read()
        assert observed.complete
        assert [run.run for run in observed.runs] == ["endless-a"]

    async def test_signalled_run_leaves_within_its_grace(self, place: Place) -> None:
        await place.engine.start([start("endless-a")])
        await place.pass_time(1)
        await place.engine.signal(["endless-a"], GRACE_SECONDS)
        assert (await everything(place.engine))["endless-a"].phase is RunPhase.LEAVING
        await place.pass_time(GRACE_SECONDS + 1)
        ended = (await everything(place.engine))["endless-a"]
        assert (ended.phase, ended.ending) == (RunPhase.ENDED, Ending.SUSPENDED)

    async def test_second_signal_does_not_prolong_the_grace(self, place: Place) -> None:
        await place.engine.start([start("endless-a")])
        await place.pass_time(1)
        await place.engine.signal(["endless-a"], GRACE_SECONDS)
        await place.pass_time(GRACE_SECONDS - 5)
        await place.engine.signal(["endless-a"], GRACE_SECONDS)
        await place.pass_time(6)
        assert (await everything(place.engine))["endless-a"].phase is RunPhase.ENDED

    async def test_signal_to_nobody_is_no_error(self, place: Place) -> None:
        await place.engine.signal(["never-started"], GRACE_SECONDS)
        assert "never-started" not in await everything(place.engine)

    async def test_ending_is_told_until_it_is_recorded(self, place: Place) -> None:
        await place.engine.start([start("a"), start("endless-b", device="g1")])
        await place.pass_time(WORK_SECONDS + 1)
        assert set(await everything(place.engine)) == {"a", "endless-b"}
        await place.engine.forget(["a", "endless-b"])
        assert set(await everything(place.engine)) == {"endless-b"}

    async def test_device_in_use_is_refused_and_free_again_after_the_ending(self, place: Place) -> None:
        await place.engine.start([start("a")])
        await place.engine.start([start("b")])
        refused = (await everything(place.engine))["b"]
        assert refused.ending is Ending.REFUSED
        assert "g0" in refused.detail
        await place.pass_time(WORK_SECONDS + 1)
        await place.engine.start([start("c")])
        await place.pass_time(1)
        assert (await everything(place.engine))["c"].phase is RunPhase.RUNNING

    async def test_slices_share_a_device_up_to_its_memory(self, place: Place) -> None:
        await place.engine.start([start("a", mib=40960), start("b", mib=40960), start("c", mib=1)])
        await place.pass_time(1)
        runs = await everything(place.engine)
        assert [runs[name].phase for name in "abc"] == [RunPhase.RUNNING, RunPhase.RUNNING, RunPhase.ENDED]

    async def test_start_on_a_node_or_device_that_is_not_there_is_refused(self, place: Place) -> None:
        await place.engine.start([start("a", node="n9"), start("b", device="g9")])
        runs = await everything(place.engine)
        assert {runs["a"].ending, runs["b"].ending} == {Ending.REFUSED}

    async def test_runs_of_a_lost_node_are_told_as_lost(self, place: Place) -> None:
        await place.engine.start([start("a", node="n0"), start("b", node="n1")])
        await place.pass_time(1)
        before = await place.engine.inventory()
        await place.lose("n0")
        runs = await everything(place.engine)
        assert (runs["a"].ending, runs["b"].phase) == (Ending.LOST, RunPhase.RUNNING)
        after = await place.engine.inventory()
        assert [node.name for node in after.nodes] == ["n1"]
        assert after.revision > before.revision

    async def test_node_that_comes_back_takes_work_again(self, place: Place) -> None:
        await place.engine.start([start("a")])
        await place.lose("n0")
        await place.bring_back("n0")
        assert {node.name for node in (await place.engine.inventory()).nodes} == {"n0", "n1"}
        await place.engine.start([start("b")])
        await place.pass_time(1)
        assert (await everything(place.engine))["b"].phase is RunPhase.RUNNING

    async def test_leaving_run_of_a_lost_node_ends_once(self, place: Place) -> None:
        reader = Reader(place.engine)
        await reader.read()
        await place.engine.start([start("endless-a")])
        await place.pass_time(1)
        await place.engine.signal(["endless-a"], GRACE_SECONDS)
        await place.lose("n0")
        await place.pass_time(GRACE_SECONDS + 1)
        endings = [run.ending for run in (await reader.read()).runs if run.phase is RunPhase.ENDED]
        assert endings == [Ending.LOST]
