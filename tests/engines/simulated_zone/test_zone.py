"""What is particular to a simulated zone: progress, switches, use, its clock, its description."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from corral.core.refusals import Conflict, Invalid, NotFound
from corral.engines.interface import Ending, RunPhase, Start
from corral.engines.simulated_zone import rows
from corral.engines.simulated_zone.engine import SimulatedZoneEngine
from corral.engines.simulated_zone.rows import NodeState
from corral.engines.simulated_zone.tables import simulated_node, simulated_run, simulated_zone
from corral.engines.tasks import SimulatedUse, Simulation, Task
from corral.store.database import Database
from tests.clocks import ShiftedClock
from tests.engines.engine_suite import Reader, everything
from tests.engines.simulated_zone.places import DESCRIPTION, NODES, SimulatedZonePlace, make_zone, start_of


async def test_start_without_a_simulation_is_refused_with_the_reason(place: SimulatedZonePlace) -> None:
    start = start_of("a")
    assert start.task is not None
    for name, task in (("a", None), ("b", replace(start.task, simulation=None))):
        await place.engine.start([replace(start, run=name, workload=name, task=task)])
        refused = (await everything(place.engine))[name]
        assert refused.ending is Ending.REFUSED
        assert "simulation" in refused.detail


async def test_replicas_of_an_attempt_start_all_or_none(place: SimulatedZonePlace) -> None:
    first, second = start_of("w-0", workload="w"), start_of("w-1", workload="w", device=7)
    await place.engine.start([first, second])
    runs = await everything(place.engine)
    assert {run.ending for run in runs.values()} == {Ending.REFUSED}
    await place.engine.start([start_of("b")])
    assert (await everything(place.engine))["b"].ending is None


async def test_resumed_attempt_works_for_the_time_that_is_left(place: SimulatedZonePlace) -> None:
    work = Simulation(100, save_seconds=3)
    await place.engine.start([start_of("w-1-0", work, workload="w")])
    await place.reach("w-1-0", RunPhase.RUNNING)
    place.clock.advance(seconds=40)
    await place.engine.signal(["w-1-0"], 30)
    first = await place.reach("w-1-0", RunPhase.ENDED)
    assert first.ending is Ending.SUSPENDED
    await place.engine.forget(["w-1-0"])
    await place.another().start([start_of("w-2-0", work, workload="w", attempt=2)])
    second = await place.reach("w-2-0", RunPhase.ENDED)
    assert second.ending is Ending.SUCCEEDED
    worked = [(one.ended or 0) - (one.started or 0) for one in (first, second)]
    assert sum(worked) == (100 + 3) * 1_000_000


async def test_lost_node_takes_its_runs_and_comes_back_empty(place: SimulatedZonePlace) -> None:
    await place.engine.start([start_of("endless-a"), start_of("endless-b", node=NODES[1])])
    before = await place.engine.inventory()
    await place.engine.set_node(NODES[0], NodeState(lost=True))
    runs = await everything(place.another())
    assert (runs["endless-a"].ending, runs["endless-b"].ending) == (Ending.LOST, None)
    assert NODES[0] in runs["endless-a"].detail
    lost = await place.another().inventory()
    assert ([node.name for node in lost.nodes], list(lost.facts)) == ([NODES[1]], [NODES[1]])
    assert lost.revision > before.revision
    assert set((await place.engine.usage()).nodes) == {NODES[1]}
    await place.engine.start([start_of("c")])
    assert (await everything(place.engine))["c"].ending is Ending.REFUSED
    await place.engine.set_node(NODES[0], NodeState())
    assert (await place.engine.inventory()).nodes == before.nodes
    assert (await place.engine.inventory()).revision > lost.revision
    await place.engine.start([start_of("d")])
    assert (await everything(place.engine))["d"].ending is None


async def test_starts_can_be_slow_and_fail(place: SimulatedZonePlace) -> None:
    await place.engine.set_node(NODES[0], NodeState(start_seconds=3600))
    await place.engine.set_node(NODES[1], NodeState(refusal="the image cannot be pulled"))
    await place.engine.start([start_of("endless-a"), start_of("b", node=NODES[1])])
    place.clock.advance(seconds=3000)
    runs = await everything(place.another())
    assert runs["endless-a"].phase is RunPhase.STARTING
    assert (runs["b"].ending, runs["b"].detail) == (Ending.REFUSED, "the image cannot be pulled")
    place.clock.advance(seconds=600)
    assert (await everything(place.another()))["endless-a"].phase is RunPhase.RUNNING
    assert await place.another().node_states() == {
        NODES[0]: NodeState(start_seconds=3600),
        NODES[1]: NodeState(refusal="the image cannot be pulled"),
    }


@pytest.mark.parametrize(
    ("name", "state", "field"),
    [
        ("nowhere", NodeState(lost=True), "node"),
        (NODES[0], NodeState(start_seconds=-1), "start_seconds"),
        (NODES[0], NodeState(refusal="x" * 501), "refusal"),
    ],
)
async def test_switches_are_checked(
    place: SimulatedZonePlace, name: str, state: NodeState, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        await place.engine.set_node(name, state)
    assert [error.field for error in refused.value.errors] == [field]


async def test_use_is_counted_for_runs_nodes_and_devices(place: SimulatedZonePlace) -> None:
    use = SimulatedUse(cpu_milli=500, memory_mib=256, gpu_percent=60, gpu_memory_mib=1000)
    work = Simulation(100, usage=use)
    await place.engine.start([start_of("a", work, mib=4000), start_of("b", work, mib=4000)])
    await place.reach("a", RunPhase.RUNNING)
    first = await place.another().usage()
    device = next(one for one in first.devices if (one.node, one.device) == (NODES[0], "gpu0"))
    assert (device.busy_percent, device.memory_used_mib, device.simulated) == (100, 2000, True)
    assert first.nodes[NODES[0]].memory_used_bytes == 512 * 1024 * 1024
    place.clock.advance(seconds=10)
    second = await place.another().usage()
    elapsed = second.at - first.at
    for name in ("a", "b"):
        used = [one.runs[name].cpu_microseconds or 0 for one in (first, second)]
        assert abs(used[1] - used[0] - elapsed // 2) <= 1
    busy = [one.nodes[NODES[0]].cpu_busy_microseconds for one in (first, second)]
    assert abs(busy[1] - busy[0] - elapsed) <= 2


async def test_counters_of_a_node_keep_what_forgotten_runs_used(place: SimulatedZonePlace) -> None:
    await place.engine.start([start_of("a")])
    await place.reach("a", RunPhase.ENDED)
    before = (await place.engine.usage()).nodes[NODES[0]].cpu_busy_microseconds
    await place.engine.forget(["a"])
    await place.engine.forget(["a"])
    assert (await place.engine.usage()).nodes[NODES[0]].cpu_busy_microseconds == before > 0
    await place.engine.discard(["a"])
    assert (await place.engine.usage()).nodes[NODES[0]].cpu_busy_microseconds == before
    assert await place.engine.node_states() == {}


async def test_discarded_name_does_not_run_again_and_is_gone_after_a_while(
    place: SimulatedZonePlace,
) -> None:
    await place.engine.start([start_of("a")])
    await place.reach("a", RunPhase.ENDED)
    await place.engine.forget(["a"])
    await place.engine.discard(["a"])
    await place.engine.start([start_of("a")])
    assert await everything(place.engine) == {}
    place.clock.advance(days=8)
    await place.engine.discard(["another"])
    count = select(func.count()).select_from(simulated_run)
    assert await place.database.read(lambda transaction: transaction.scalar(count)) == 0


async def test_nothing_can_be_entered_and_the_reason_is_said(place: SimulatedZonePlace) -> None:
    await place.engine.start([start_of("endless-a")])
    with pytest.raises(Conflict, match="This zone is simulated: nothing runs there that could be entered"):
        await place.engine.execute("endless-a", ["ls"])
    with pytest.raises(Conflict, match="This zone is simulated: nothing runs there that could be reached"):
        await place.engine.dial("endless-a", 8888)


async def test_ending_is_marked_with_the_clock_of_the_zone(place: SimulatedZonePlace) -> None:
    await place.engine.start([start_of("a")])
    ended = await place.reach("a", RunPhase.ENDED)
    assert ended.ended_mark == (place.another().clock_domain, ended.ended)
    assert place.zone_id in place.engine.clock_domain


async def test_waiting_ends_when_something_is_due(place: SimulatedZonePlace) -> None:
    await place.engine.set_node(NODES[0], NodeState(start_seconds=0))
    reader = Reader(place.engine)
    await place.engine.start([start_of("a", Simulation(1))])
    assert [run.phase for run in (await reader.read()).runs] == [RunPhase.RUNNING]
    await asyncio.wait_for(place.engine.wait(reader.cursor, 3600), 60)
    assert [run.phase for run in (await reader.read()).runs] == [RunPhase.ENDED]


async def test_waiting_ends_when_another_driver_acts(
    place: SimulatedZonePlace, database_url: str, clock: ShiftedClock
) -> None:
    await place.engine.start([start_of("endless-a")])
    await place.reach("endless-a", RunPhase.RUNNING)
    reader = Reader(place.engine)
    await reader.read()
    await place.database.listen()
    waiting = asyncio.create_task(place.engine.wait(reader.cursor, 3600))
    other = Database(database_url, clock=clock)
    try:
        await SimulatedZoneEngine(other, place.zone_id, DESCRIPTION).kill(["endless-a"])
        await asyncio.wait_for(waiting, 60)
    finally:
        await other.close()
    assert [run.ending for run in (await reader.read()).runs] == [Ending.SUSPENDED]


async def test_waiting_ends_with_its_time(place: SimulatedZonePlace) -> None:
    reader = Reader(place.engine)
    await reader.read()
    await asyncio.wait_for(place.engine.wait(reader.cursor, 0.05), 60)
    assert (await reader.read()).runs == ()


async def test_output_is_followed_as_it_comes(place: SimulatedZonePlace) -> None:
    await place.engine.set_node(NODES[0], NodeState(start_seconds=0))
    await place.engine.start([start_of("a", Simulation(1))])

    async def follow() -> bytes:
        return b"".join([chunk.data async for chunk in place.engine.follow("a", 0)])

    lines = (await asyncio.wait_for(follow(), 60)).decode().splitlines()
    assert "simulated" in lines[0].lower()
    assert lines[-1].endswith("Finished.")
    assert len(lines) == 5


async def test_follower_gets_what_came_while_another_one_read(place: SimulatedZonePlace) -> None:
    await place.engine.start([start_of("a")])
    await place.reach("a", RunPhase.RUNNING)
    stream = place.engine.follow("a", 0)
    first = await anext(stream)
    place.clock.advance(seconds=30)
    whole = await place.another().logs("a", 0, 10_000)
    rest = await asyncio.wait_for(anext(stream), 60)
    assert first.data + rest.data == whole.data


async def test_time_never_goes_back_for_drivers_whose_clocks_differ(
    place: SimulatedZonePlace, database_url: str, clock: ShiftedClock
) -> None:
    """One that is an hour behind sees what the other was told, and can act on it."""
    await place.engine.start([start_of("a"), start_of("endless-b", device=1)])
    slow = Database(database_url, clock=ShiftedClock())
    try:
        behind = SimulatedZoneEngine(slow, place.zone_id, DESCRIPTION)
        clock.advance(hours=1)
        reader = Reader(place.engine)
        ahead = {run.run: run for run in (await reader.read()).runs}
        assert ahead["a"].ending is Ending.SUCCEEDED
        reader.engine = behind
        assert await everything(behind) == ahead
        assert (await behind.logs("a", 0, 9999)).ended
        await behind.forget(["a"])
        await behind.kill(["endless-b"])
        await asyncio.wait_for(behind.wait(reader.cursor, 3600), 60)
        (killed,) = (await reader.read()).runs
        assert killed.ending is Ending.SUSPENDED
        assert killed.ended is not None
        assert killed.ended > ahead["endless-b"].since
    finally:
        await slow.close()


async def test_cursor_of_the_future_is_answered_with_everything(place: SimulatedZonePlace) -> None:
    reader = Reader(place.engine)
    await reader.read()
    assert reader.cursor is not None
    reader.cursor = reader.cursor._replace(sequence=reader.cursor.sequence + 3_600_000_000)
    assert (await reader.read()).complete


async def test_change_of_the_description_is_seen_by_every_engine(place: SimulatedZonePlace) -> None:
    other = place.another()
    before = await other.inventory()
    await place.engine.start([start_of("endless-a"), start_of("endless-b", node=NODES[1])])
    await place.database.write(rows.write_description, place.zone_id, "1x4xH100-80GB")
    after = await other.inventory()
    assert [(node.name, len(node.devices)) for node in after.nodes] == [(NODES[0], 4)]
    assert after.revision > before.revision
    runs = await everything(other)
    assert (runs["endless-a"].ending, runs["endless-b"].ending) == (None, Ending.LOST)
    await place.database.write(rows.write_description, place.zone_id, "1x4xH100-80GB")
    assert (await other.inventory()).revision == after.revision


async def test_deleting_a_zone_deletes_its_rows_and_no_others(place: SimulatedZonePlace) -> None:
    kept = SimulatedZonePlace(place.database, place.clock, await make_zone(place.database, "kept"))
    for one in (place, kept):
        await one.engine.set_node(NODES[0], NodeState(start_seconds=3))
        await one.engine.start([start_of("endless-a")])
    await place.database.write(rows.delete_zone, place.zone_id)
    assert set(await everything(kept.engine)) == {"endless-a"}
    for table in (simulated_zone, simulated_node, simulated_run):
        owners = await place.database.read(
            lambda transaction, table=table: {
                row.zone_id for row in transaction.rows(select(table.c.zone_id))
            }
        )
        assert owners == {kept.zone_id}
    with pytest.raises(NotFound):
        await place.engine.observe()


async def test_engine_of_a_zone_that_is_not_there_makes_nothing(database: Database) -> None:
    engine = SimulatedZoneEngine(database, "z" * 23, DESCRIPTION)
    with pytest.raises(IntegrityError):
        await engine.observe()


async def test_what_is_used_never_exceeds_the_task(place: SimulatedZonePlace) -> None:
    use = SimulatedUse(cpu_milli=99_000, memory_mib=99_000)
    task = Task("ada", (), "a", cpu_milli=1000, memory_mib=64, simulation=Simulation(10, usage=use))
    await place.engine.start([Start("a", "a", "0", 1, NODES[0], (), task)])
    ended = await place.reach("a", RunPhase.ENDED)
    assert ended.usage is not None
    assert ended.usage.cpu_microseconds == 10_000_000
    assert ended.usage.memory_peak_bytes == 64 * 1024 * 1024
    assert ended.usage.gpu_memory_mib is None
