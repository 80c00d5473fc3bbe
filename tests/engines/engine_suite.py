"""What every engine must do: inherit `EngineSuite` and say how to make one and how to let things happen.

What a run does is in its name: it works for a moment and succeeds; an `endless` one goes on until it is told
to go; a `stubborn` one does not listen; a `failing` one fails; one that is `done` says so and goes on.
"""

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace

import pytest

from corral.core.concurrency import TooManyOpen
from corral.core.devices import DeviceUse
from corral.core.refusals import Conflict, NotFound, Refusal
from corral.engines.interface import Cursor, Ending, Engine, Observation, Run, RunPhase, Start
from corral.engines.reports import Message, MessageKind
from corral.engines.session_limits import Bounds
from corral.engines.tasks import Task

BOUNDS = Bounds(dials=2, sessions=2, streams=2)


class Place(ABC):
    """An engine with a node `node` that has two devices, and the means of making things happen there.

    It lets in as many as `BOUNDS` says.
    """

    engine: Engine
    node: str
    devices: tuple[str, str]
    device_memory_mib: int
    grace_seconds: int

    @abstractmethod
    def task(self, name: str) -> Task: ...

    @abstractmethod
    async def reach(self, run: str, phase: RunPhase) -> Run:
        """Lets time pass until the run is told to be in this phase, or fails after a while."""

    @abstractmethod
    async def said(self, run: str, kind: MessageKind) -> Message:
        """Lets time pass until the run has said something of this kind."""

    @abstractmethod
    async def lose(self, run: str) -> None:
        """What carries this run is gone, with the run."""

    @abstractmethod
    async def forget_what_was_told(self) -> None:
        """As after a restart of the engine: work goes on, but it no longer knows what it has told."""

    def start(self, run: str, device: int = 0, mib: int | None = None, node: str = "") -> Start:
        use = DeviceUse(self.devices[device], mib)
        return Start(run, run, "0", 1, node or self.node, (use,), self.task(run))


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


async def assert_says_nothing(place: Place, run: str) -> None:
    """Without messages, no run is done before it ends: a signal suspends it."""
    assert await place.engine.messages({}) == ()
    assert await place.engine.messages({}, runs=[run]) == ()
    await place.engine.signal([run], 3600)
    ended = await place.reach(run, RunPhase.ENDED)
    assert (ended.ending, ended.said_done) == (Ending.SUSPENDED, False)


class EngineSuite(ABC):
    @pytest.fixture
    @abstractmethod
    async def place(self) -> Place: ...

    async def test_inventory_names_every_node_with_its_devices(self, place: Place) -> None:
        nodes = {node.name: node for node in (await place.engine.inventory()).nodes}
        assert [device.id for device in nodes[place.node].devices] == list(place.devices)

    async def test_run_starts_works_and_succeeds(self, place: Place) -> None:
        await place.engine.start([place.start("a")])
        ended = await place.reach("a", RunPhase.ENDED)
        assert (ended.ending, ended.exit_code, ended.signal) == (Ending.SUCCEEDED, 0, None)
        assert ended.started is not None
        assert ended.ended is not None
        assert ended.started <= ended.ended <= ended.since

    async def test_run_that_fails_is_told_with_its_exit_code(self, place: Place) -> None:
        await place.engine.start([place.start("failing-a")])
        ended = await place.reach("failing-a", RunPhase.ENDED)
        assert (ended.ending, ended.exit_code) == (Ending.FAILED, 1)

    async def test_second_start_changes_nothing(self, place: Place) -> None:
        await place.engine.start([place.start("endless-a")])
        first = await place.reach("endless-a", RunPhase.RUNNING)
        await place.engine.start([place.start("endless-a")])
        assert (await everything(place.engine))["endless-a"] == first

    async def test_what_has_ended_is_not_started_again(self, place: Place) -> None:
        await place.engine.start([place.start("a")])
        ended = await place.reach("a", RunPhase.ENDED)
        await place.engine.start([place.start("a")])
        assert (await everything(place.engine))["a"] == ended
        await place.engine.forget(["a"])
        await place.engine.start([place.start("a")])
        assert "a" not in await everything(place.engine)

    async def test_person_who_left_can_be_forgotten_again_and_again(self, place: Place) -> None:
        await place.engine.start([place.start("a")])
        await place.reach("a", RunPhase.ENDED)
        await place.engine.forget(["a"])
        await place.engine.discard(["a"])
        for owner in (place.task("a").owner, place.task("a").owner, "u01k9x3v7qzt8m2c4w6d0zz"):
            await place.engine.forget_person(owner)

    async def test_first_observation_is_complete(self, place: Place) -> None:
        await place.engine.start([place.start("a"), place.start("b", device=1)])
        observed = await place.engine.observe()
        assert observed.complete
        assert {run.run for run in observed.runs} == {"a", "b"}

    async def test_every_change_is_told_once_and_in_order(self, place: Place) -> None:
        reader = Reader(place.engine)
        await reader.read()
        await place.engine.start([place.start("a")])
        observed = [await reader.read()]
        for phase in (RunPhase.RUNNING, RunPhase.ENDED):
            await place.reach("a", phase)
            observed.append(await reader.read())
        assert not any(one.complete for one in observed)
        told = [run for one in observed for run in one.runs]
        assert [run.phase for run in told] == [RunPhase.STARTING, RunPhase.RUNNING, RunPhase.ENDED]
        assert [run.since for run in told] == sorted(run.since for run in told)

    async def test_reading_again_from_the_same_place_tells_the_same(self, place: Place) -> None:
        first = await place.engine.observe()
        await place.engine.start([place.start("endless-a")])
        await place.reach("endless-a", RunPhase.RUNNING)
        once = await place.engine.observe(first.cursor)
        assert await place.engine.observe(first.cursor) == once
        assert once.runs

    async def test_unknown_cursor_is_answered_with_everything(self, place: Place) -> None:
        reader = Reader(place.engine)
        await place.engine.start([place.start("endless-a")])
        await reader.read()
        await place.forget_what_was_told()
        reader.engine = place.engine
        observed = await reader.read()
        assert observed.complete
        assert [run.run for run in observed.runs] == ["endless-a"]

    async def test_waiting_ends_with_the_news(self, place: Place) -> None:
        reader = Reader(place.engine)
        await reader.read()
        await place.engine.start([place.start("a")])
        await place.engine.wait(reader.cursor, 3600)
        assert (await reader.read()).runs

    async def test_run_without_a_check_is_ready_while_it_runs(self, place: Place) -> None:
        await place.engine.start([place.start("endless-a")])
        running = await place.reach("endless-a", RunPhase.RUNNING)
        assert running.ready_since is not None
        assert running.ready_since == running.started
        await place.engine.signal(["endless-a"], place.grace_seconds)
        ended = await place.reach("endless-a", RunPhase.ENDED)
        assert ended.ready_since is None

    async def test_signalled_run_leaves_within_its_grace(self, place: Place) -> None:
        await place.engine.start([place.start("endless-a")])
        await place.reach("endless-a", RunPhase.RUNNING)
        await place.engine.signal(["endless-a"], 3600)
        assert (await everything(place.engine))["endless-a"].phase in (RunPhase.LEAVING, RunPhase.ENDED)
        assert (await place.reach("endless-a", RunPhase.ENDED)).ending is Ending.SUSPENDED

    async def test_grace_ends_what_does_not_listen_and_a_second_signal_does_not_prolong_it(
        self, place: Place
    ) -> None:
        await place.engine.start([place.start("stubborn-a")])
        await place.reach("stubborn-a", RunPhase.RUNNING)
        await place.engine.signal(["stubborn-a"], place.grace_seconds)
        await place.reach("stubborn-a", RunPhase.LEAVING)
        await place.engine.signal(["stubborn-a"], 3600)
        assert (await place.reach("stubborn-a", RunPhase.ENDED)).ending is Ending.SUSPENDED

    async def test_signal_to_nobody_is_no_error(self, place: Place) -> None:
        await place.engine.signal(["never-started"], place.grace_seconds)
        await place.engine.kill(["never-started"])
        assert "never-started" not in await everything(place.engine)

    async def test_kill_ends_at_once_what_does_not_listen(self, place: Place) -> None:
        await place.engine.start([place.start("stubborn-a")])
        await place.reach("stubborn-a", RunPhase.RUNNING)
        await place.engine.signal(["stubborn-a"], 3600)
        await place.engine.kill(["stubborn-a"])
        await place.engine.kill(["stubborn-a"])
        assert (await place.reach("stubborn-a", RunPhase.ENDED)).ending is Ending.SUSPENDED

    async def test_work_that_said_it_is_done_succeeds_also_when_it_is_told_to_go(self, place: Place) -> None:
        await place.engine.start([place.start("done-a")])
        await place.reach("done-a", RunPhase.RUNNING)
        if not place.engine.capabilities.messages:
            await assert_says_nothing(place, "done-a")
            return
        said = await place.said("done-a", MessageKind.DONE)
        assert said.run == "done-a"
        await place.engine.signal(["done-a"], 3600)
        ended = await place.reach("done-a", RunPhase.ENDED)
        assert (ended.ending, ended.said_done) == (Ending.SUCCEEDED, True)

    async def test_what_a_run_said_is_told_from_the_number_on_until_it_is_forgotten(
        self, place: Place
    ) -> None:
        await place.engine.start([place.start("done-a")])
        await place.reach("done-a", RunPhase.RUNNING)
        if not place.engine.capabilities.messages:
            await assert_says_nothing(place, "done-a")
            return
        done = await place.said("done-a", MessageKind.DONE)
        report, same = await place.engine.messages({})
        assert (report.kind, report.body, same) == (MessageKind.REPORT, {"step": 1, "loss": 0.5}, done)
        assert await place.engine.messages({"done-a": report.number}) == (done,)
        assert await place.engine.messages({"done-a": done.number}) == ()
        assert await place.engine.messages({}, limit=1) == (report,)
        await place.engine.kill(["done-a"])
        await place.reach("done-a", RunPhase.ENDED)
        await place.engine.forget(["done-a"])
        assert await place.engine.messages({}) == ()

    async def test_ending_is_told_until_it_is_recorded(self, place: Place) -> None:
        await place.engine.start([place.start("a"), place.start("endless-b", device=1)])
        await place.reach("a", RunPhase.ENDED)
        assert set(await everything(place.engine)) == {"a", "endless-b"}
        await place.engine.forget(["a", "endless-b"])
        assert set(await everything(place.engine)) == {"endless-b"}

    async def test_device_in_use_is_refused_and_free_again_after_the_ending(self, place: Place) -> None:
        await place.engine.start([place.start("endless-a")])
        await place.engine.start([place.start("b")])
        refused = (await everything(place.engine))["b"]
        assert refused.ending is Ending.REFUSED
        assert place.devices[0] in refused.detail
        await place.engine.kill(["endless-a"])
        await place.reach("endless-a", RunPhase.ENDED)
        await place.engine.start([place.start("c")])
        assert (await place.reach("c", RunPhase.ENDED)).ending is Ending.SUCCEEDED

    async def test_slices_share_a_device_up_to_its_memory(self, place: Place) -> None:
        half = place.device_memory_mib // 2
        await place.engine.start(
            [
                place.start("endless-a", mib=half),
                place.start("endless-b", mib=half),
                place.start("endless-c", mib=1),
            ]
        )
        runs = await everything(place.engine)
        endings = [runs[f"endless-{letter}"].ending for letter in "abc"]
        assert endings == [None, None, Ending.REFUSED]

    async def test_start_on_a_node_that_is_not_there_is_refused(self, place: Place) -> None:
        await place.engine.start([place.start("a", node="nowhere")])
        refused = (await everything(place.engine))["a"]
        assert refused.ending is Ending.REFUSED
        assert "nowhere" in refused.detail

    async def test_refused_start_stays_refused(self, place: Place) -> None:
        await place.engine.start([place.start("a", node="nowhere")])
        await place.engine.start([place.start("a")])
        assert (await everything(place.engine))["a"].ending is Ending.REFUSED

    async def test_lost_run_is_told_as_lost_once(self, place: Place) -> None:
        reader = Reader(place.engine)
        await reader.read()
        await place.engine.start([place.start("endless-a")])
        await place.reach("endless-a", RunPhase.RUNNING)
        await place.lose("endless-a")
        await place.reach("endless-a", RunPhase.ENDED)
        endings = [run.ending for run in (await reader.read()).runs if run.phase is RunPhase.ENDED]
        assert endings == [Ending.LOST]
        assert (await reader.read()).runs == ()

    async def test_leaving_run_that_is_lost_ends_once(self, place: Place) -> None:
        reader = Reader(place.engine)
        await reader.read()
        await place.engine.start([place.start("stubborn-a")])
        await place.reach("stubborn-a", RunPhase.RUNNING)
        await place.engine.signal(["stubborn-a"], 3600)
        await place.lose("stubborn-a")
        await place.reach("stubborn-a", RunPhase.ENDED)
        endings = [run.ending for run in (await reader.read()).runs if run.phase is RunPhase.ENDED]
        assert endings == [Ending.LOST]

    async def test_output_is_read_from_any_offset_and_says_where_it_ends(self, place: Place) -> None:
        await place.engine.start([place.start("a")])
        await place.reach("a", RunPhase.ENDED)
        whole = await place.engine.logs("a", 0, 100_000)
        assert len(whole.data) > 10
        assert (whole.offset, whole.next, whole.dropped, whole.ended) == (0, len(whole.data), 0, True)
        part = await place.engine.logs("a", 5, 5)
        assert (part.data, part.next, part.ended) == (whole.data[5:10], 10, False)
        end = await place.engine.logs("a", whole.next, 5)
        assert (end.data, end.next, end.ended) == (b"", whole.next, True)

    async def test_output_that_is_followed_is_the_output(self, place: Place) -> None:
        await place.engine.start([place.start("a")])
        await place.reach("a", RunPhase.ENDED)
        followed = b"".join([chunk.data async for chunk in place.engine.follow("a", 0)])
        assert followed == (await place.engine.logs("a", 0, 100_000)).data

    async def test_output_of_one_persons_work_is_followed_by_so_many_and_no_more(self, place: Place) -> None:
        bens = replace(place.start("endless-c", mib=1), task=replace(place.task("endless-c"), owner="ben"))
        starts = [place.start("endless-a", mib=1), place.start("endless-b", device=1), bens]
        await place.engine.start(starts)
        for start in starts:
            await place.reach(start.run, RunPhase.RUNNING)
        async with AsyncExitStack() as open_streams:

            async def follow(run: str) -> None:
                stream = place.engine.follow(run, 0)
                await open_streams.enter_async_context(aclosing(stream))  # type: ignore[type-var]
                assert (await anext(stream)).data

            await follow("endless-a")
            await follow("endless-b")
            with pytest.raises(
                TooManyOpen, match="owner of this work has 2 streams of output open"
            ) as refused:
                await follow("endless-a")
            assert refused.value.remedy == "Stop following some of them, then try again."
            await follow("endless-c")
        assert (await anext(place.engine.follow("endless-a", 0))).data

    async def test_output_stays_readable_until_its_workload_is_discarded(self, place: Place) -> None:
        start = place.start("a")
        await place.engine.start([start])
        await place.reach("a", RunPhase.ENDED)
        whole = await place.engine.logs("a", 0, 100_000)
        await place.engine.discard([start.workload])
        assert await place.engine.logs("a", 0, 100_000) == whole
        await place.engine.forget(["a"])
        assert await place.engine.logs("a", 0, 100_000) == whole
        await place.engine.discard([start.workload])
        with pytest.raises(NotFound):
            await place.engine.logs("a", 0, 10)

    async def test_usage_tells_of_runs_nodes_and_devices(self, place: Place) -> None:
        await place.engine.start([place.start("endless-a", mib=1024), place.start("endless-b", device=1)])
        await place.reach("endless-a", RunPhase.RUNNING)
        await place.reach("endless-b", RunPhase.RUNNING)
        usage = await place.engine.usage(["endless-a"])
        assert set(usage.runs) == {"endless-a"}
        assert place.node in usage.nodes
        devices = {sample.device: sample for sample in usage.devices if sample.node == place.node}
        assert set(devices) == set(place.devices)
        used = devices[place.devices[0]]
        assert (used.simulated, used.memory_used_mib, used.busy_percent) == (True, 1024, 0)
        run = usage.runs["endless-a"]
        assert (run.gpu_memory_mib, run.gpu_busy_percent) == (1024, 0)
        assert set((await place.engine.usage()).runs) == {"endless-a", "endless-b"}

    async def test_what_is_not_there_cannot_be_reached(self, place: Place) -> None:
        with pytest.raises(NotFound):
            await place.engine.logs("never-started", 0, 10)
        with pytest.raises(NotFound):
            await place.engine.execute("never-started", ["true"])
        with pytest.raises(NotFound):
            await place.engine.dial("never-started", 80)

    async def test_running_work_is_entered_or_refused_as_the_engine_declares(self, place: Place) -> None:
        await place.engine.start([place.start("endless-a")])
        await place.reach("endless-a", RunPhase.RUNNING)
        if place.engine.capabilities.execute:
            session = await place.engine.execute("endless-a", ["sh", "-c", "exit 7"])
            assert await session.wait() == 7
            await session.close()
        else:
            with pytest.raises(Conflict) as refused:
                await place.engine.execute("endless-a", ["true"])
            assert "simulated" in refused.value.detail.lower()
            assert refused.value.remedy
        if not place.engine.capabilities.dial:
            with pytest.raises(Conflict) as refused:
                await place.engine.dial("endless-a", 80)
            assert "simulated" in refused.value.detail.lower()
            assert refused.value.remedy

    async def test_what_has_ended_cannot_be_entered(self, place: Place) -> None:
        await place.engine.start([place.start("a")])
        await place.reach("a", RunPhase.ENDED)
        with pytest.raises(Conflict):
            await place.engine.execute("a", ["true"])
        with pytest.raises(Refusal):
            await place.engine.dial("a", 80)
