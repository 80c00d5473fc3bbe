"""Run times are learnt from what finished, and starts are estimated for what waits."""

from corral.replay.nodes import parse_nodes
from corral.replay.settings import Settings
from tests.replay.test_loop import job, records, replay


async def test_how_much_of_their_limits_work_used_is_learnt() -> None:
    jobs = [job(f"j{number}", "team", number * 2000, 3000, 4, limit_seconds=6000) for number in range(12)]
    nodes = parse_nodes("1x4xH100-80GB")
    settings = Settings(estimates=True, learns=True)
    ended = records(await replay(jobs, {"team": 4}, nodes=nodes, settings=settings).run())
    first, last = ended["j1"].estimate, ended["j11"].estimate
    assert first is not None
    assert last is not None
    assert first.starts_at == 6000, "at the limit of the first one"
    assert last.starts_at == ended["j11"].first_start


async def test_work_with_a_limit_before_it_is_told_when_it_starts() -> None:
    jobs = [
        job("first", "team", 0, 500, 2, replicas=2, limit_seconds=600),
        job("second", "team", 100, 500, 2, replicas=2, limit_seconds=600),
    ]
    ended = records(await replay(jobs, {"team": 4}, settings=Settings(estimates=True)).run())
    told = ended["second"].estimate
    assert told is not None
    assert told.starts_at == 600
    assert ended["second"].first_start == 500
    assert ended["first"].estimate is None


async def test_without_limits_there_is_no_estimate_until_enough_was_learnt() -> None:
    jobs = [job(f"j{number}", "team", number * 1000, 2000, 4) for number in range(16)]
    nodes = parse_nodes("1x4xH100-80GB")
    settings = Settings(estimates=True, learns=True)
    ended = records(await replay(jobs, {"team": 4}, nodes=nodes, settings=settings).run())
    first, last = ended["j1"].estimate, ended["j15"].estimate
    assert first is not None
    assert first.starts_at is None
    assert last is not None
    assert last.starts_at == ended["j15"].first_start
