"""The replay loop: what happens to work on virtual time."""

import pytest

from corral.core.nodes import Node
from corral.core.plans import Action
from corral.core.workloads import DeviceRequest, Request
from corral.engines.simulated import Faults
from corral.replay.jobs import Job
from corral.replay.loop import Replay
from corral.replay.nodes import make_nodes
from corral.replay.planner import make_planner
from corral.replay.policy import SHORT_FIRST, Policy, parse_policy
from corral.replay.record import JobRecord, Recording
from corral.replay.settings import Settings


def job(name: str, queue: str, arrives: int, seconds: int, gpus: int = 1, **more: int) -> Job:
    return Job(name, queue, arrives, seconds, Request(devices=DeviceRequest(gpus)), **more)


def two_nodes() -> tuple[Node, ...]:
    return make_nodes(2, 2, "H100", 81920)


def replay(
    jobs: list[Job],
    guarantees: dict[str, int],
    policy: str | Policy = "elastic",
    nodes: tuple[Node, ...] | None = None,
    settings: Settings | None = None,
) -> Replay:
    chosen = parse_policy(policy) if isinstance(policy, str) else policy
    cluster = chosen.cluster(nodes or two_nodes(), guarantees)
    return Replay(cluster, jobs, make_planner(cluster), settings or Settings())


def records(recording: Recording) -> dict[str, JobRecord]:
    return {record.job.name: record for record in recording.jobs}


async def test_work_that_fits_starts_when_it_arrives_and_ends_after_its_time() -> None:
    recording = await replay([job("a", "team", 100, 50), job("b", "team", 120, 50)], {"team": 4}).run()
    ended = records(recording)
    assert (ended["a"].first_start, ended["a"].ended) == (100, 150)
    assert (ended["b"].first_start, ended["b"].ended) == (120, 170)
    assert recording.ended == 170


async def test_work_waits_for_what_is_in_use_in_the_order_of_its_age() -> None:
    jobs = [job("a", "team", 0, 100, 2, replicas=2), job("b", "team", 5, 100, 2), job("c", "team", 6, 9, 2)]
    ended = records(await replay(jobs, {"team": 4}).run())
    assert (ended["b"].first_start, ended["c"].first_start) == (100, 100)
    assert ended["b"].waited_seconds == 95


async def test_cycles_keep_their_distance() -> None:
    jobs = [job(f"j{number}", "team", number, 1000) for number in range(4)]
    recording = await replay(jobs, {"team": 4}, settings=Settings(cycle_seconds=10)).run()
    assert [records(recording)[f"j{number}"].first_start for number in range(4)] == [0, 10, 10, 10]
    assert recording.cycles <= 3


async def test_owner_gets_guarantee_back_and_borrower_resumes_with_nothing_lost() -> None:
    jobs = [job("borrower", "b", 0, 1000, 2, replicas=2), job("owner", "a", 100, 500, 2)]
    settings = Settings(grace_seconds=30, save_seconds=30)
    recording = await replay(jobs, {"a": 2, "b": 2}, settings=settings).run()
    ended = records(recording)
    assert ended["owner"].first_start == 130
    assert ended["borrower"].evictions == 1
    assert ended["borrower"].lost_seconds == 0
    # It waited from the notice until the owner was done; all of its work was done once.
    assert ended["borrower"].ended == 1000 + ended["borrower"].waited_seconds
    assert recording.evictions_by == {Action.RECLAIM: 1}


async def test_what_was_taken_for_someone_is_not_started_on_by_who_arrives_meanwhile() -> None:
    """The large queue stands first by its smaller share, and something of it arrives in every cycle."""
    jobs = [job(f"lent-{number}", "lender", 0, 5000) for number in range(16)]
    jobs += [job("owner", "small", 100, 500)]
    jobs += [job(f"later-{number}", "large", 101 + 10 * number, 500) for number in range(8)]
    guarantees = {"lender": 4, "small": 2, "large": 10}
    recording = await replay(jobs, guarantees, nodes=make_nodes(2, 8, "H100", 81920)).run()
    ended = records(recording)
    assert ended["owner"].first_start == 130
    waits = [ended[f"later-{number}"].waited_seconds for number in range(8)]
    assert max(waits) <= 30 + 10, "each takes for itself"
    assert recording.evictions_by == {Action.RECLAIM: 9}


async def test_resumed_work_keeps_its_age() -> None:
    jobs = [
        job("old", "b", 0, 1000, 2, replicas=2),
        job("owner", "a", 100, 500, 2, replicas=2),
        job("young", "b", 200, 50, 2, replicas=2),
    ]
    ended = records(await replay(jobs, {"a": 4, "b": 0}).run())
    assert ended["old"].evictions == 1
    first = ended["young"].first_start
    assert first is not None
    assert ended["old"].ended is not None
    assert first >= ended["old"].ended


@pytest.mark.parametrize(("interval", "lost"), [(60, 40), (0, 100)])
async def test_work_that_cannot_save_in_its_grace_loses_what_came_after_its_last_checkpoint(
    interval: int, lost: int
) -> None:
    jobs = [
        job("borrower", "b", 0, 1000, 2, replicas=2, checkpoint_seconds=interval),
        job("owner", "a", 100, 500, 2, replicas=2),
    ]
    settings = Settings(grace_seconds=10, save_seconds=30)
    ended = records(await replay(jobs, {"a": 4, "b": 0}, settings=settings).run())
    assert ended["borrower"].lost_seconds == lost
    assert ended["borrower"].ended == 1000 + lost + ended["borrower"].waited_seconds


async def test_resuming_takes_its_time() -> None:
    jobs = [job("borrower", "b", 0, 1000, 2, replicas=2), job("owner", "a", 100, 500, 2, replicas=2)]
    ended = records(await replay(jobs, {"a": 4, "b": 0}, settings=Settings(resume_seconds=77)).run())
    assert ended["borrower"].lost_seconds == 77
    assert ended["borrower"].ended == 1077 + ended["borrower"].waited_seconds


async def test_fixed_queue_waits_although_the_cluster_is_idle() -> None:
    jobs = [job("a", "team", 0, 100, 2), job("b", "team", 0, 100, 2)]
    fixed = records(await replay(jobs, {"team": 2, "other": 2}, "fixed").run())
    elastic = records(await replay(jobs, {"team": 2, "other": 2}, "elastic").run())
    assert fixed["b"].first_start == 100
    assert elastic["b"].first_start == 0


async def test_what_can_never_start_is_left_over_and_the_replay_ends() -> None:
    jobs = [job("never", "team", 0, 100, 2, replicas=3), job("small", "team", 10, 100)]
    recording = await replay(jobs, {"team": 4}).run()
    ended = records(recording)
    assert (ended["never"].first_start, ended["never"].ended) == (None, None)
    assert ended["small"].ended == 110


async def test_lost_node_sends_its_gang_back_to_the_queue_without_its_last_work() -> None:
    cycles_after = replay([job("gang", "team", 0, 1000, 2, replicas=2, checkpoint_seconds=300)], {"team": 4})
    cycles_after.engine.lose_between("node-1", 400, 700)
    recording = await cycles_after.run()
    ended = records(recording)["gang"]
    assert ended.lost_seconds == 100
    assert recording.lost_runs == 1
    assert ended.waited_seconds == 300
    assert ended.ended == 1000 + 100 + 300


async def test_losses_by_chance_only_cost_time() -> None:
    jobs = [job(f"j{number}", "team", number * 500, 3000, 2, checkpoint_seconds=600) for number in range(60)]
    faults = Faults(node_lost_every_seconds=20_000, node_away_seconds=2000, refused_ppm=50_000)
    settings = Settings(faults=faults, seed=3)
    recording = await replay(jobs, {"team": 4}, settings=settings).run()
    assert all(record.ended is not None for record in recording.jobs)
    assert recording.lost_runs > 0
    assert recording.refused_starts > 0
    for record in recording.jobs:
        assert record.ended is not None
        spent = record.ended - record.job.arrives
        assert spent == record.job.work_seconds + record.lost_seconds + record.waited_seconds


async def test_same_seed_gives_the_same_replay() -> None:
    jobs = [job(f"j{number}", "ab"[number % 2], number * 300, 2000, 2) for number in range(40)]
    settings = Settings(faults=Faults(node_lost_every_seconds=9000, slow_release_ppm=300_000), seed=5)
    first = await replay(jobs, {"a": 2, "b": 2}, settings=settings).run()
    second = await replay(jobs, {"a": 2, "b": 2}, settings=settings).run()
    assert first.jobs == second.jobs


async def test_slow_release_delays_its_taker_and_nothing_is_started_twice() -> None:
    jobs = [job("borrower", "b", 0, 1000, 2, replicas=2), job("owner", "a", 100, 500, 2, replicas=2)]
    faults = Faults(slow_release_ppm=1_000_000, slow_release_seconds=200)
    settings = Settings(faults=faults, overdue_seconds=1000)
    recording = await replay(jobs, {"a": 4, "b": 0}, settings=settings).run()
    assert records(recording)["owner"].first_start == 100 + 30 + 200
    assert recording.refused_starts == 0


async def test_stuck_release_is_promised_to_nobody() -> None:
    """The owner gets the other node when that is free, not a place that is never released."""
    jobs = [
        job("borrower", "b", 0, 10_000, 2),
        job("busy", "a", 0, 5000, 2),
        job("owner", "a", 100, 500, 2),
    ]
    settings = Settings(faults=Faults(stuck_release_ppm=1_000_000))
    cycles_after = replay(jobs, {"a": 4, "b": 0}, settings=settings)
    recording = await cycles_after.run()
    ended = records(recording)
    assert recording.stuck_releases == 1
    assert ended["owner"].first_start == 5000
    assert recording.refused_starts == 0
    assert ended["borrower"].ended is None


async def test_short_work_goes_first_without_anyone_knowing_that_it_is_short() -> None:
    jobs = [job("long", "team", 0, 100_000, 2, replicas=2), job("short", "team", 20_000, 600, 2)]
    plain = records(await replay(jobs, {"team": 4}).run())
    settings = Settings(levels=SHORT_FIRST)
    first = await replay(jobs, {"team": 4}, settings=settings).run()
    assert plain["short"].first_start == 100_000
    assert records(first)["short"].first_start == 20_030
    assert first.evictions_by == {Action.PREEMPT: 1}


async def test_equals_do_not_interrupt_each_other() -> None:
    jobs = [job(f"j{number}", "team", number, 3000, 2, replicas=2) for number in range(3)]
    recording = await replay(jobs, {"team": 4}, settings=Settings(levels=SHORT_FIRST)).run()
    assert sum(record.evictions for record in recording.jobs) <= 3
