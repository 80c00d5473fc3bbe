"""Harm of sharing: who waited longer than in a fixed partition, having asked for no more than was theirs."""

from corral.replay.harm import Harm, harm_of_sharing
from corral.replay.record import JobRecord
from tests.replay.test_loop import job


def record(name: str, arrives: int, start: int | None, seconds: int = 100, gpus: int = 1) -> JobRecord:
    ended = None if start is None else start + seconds
    return JobRecord(job(name, "team", arrives, seconds, gpus), start, ended, 0, 0, 0)


def harm(shared: list[JobRecord], fixed: list[JobRecord], guarantee: int = 1) -> Harm:
    return harm_of_sharing(shared, fixed, {"team": guarantee}, allowance_seconds=40, ended=10_000)


def test_wait_within_grace_and_a_cycle_is_no_harm() -> None:
    assert harm([record("a", 0, 40)], [record("a", 0, 0)]) == Harm(1, ())


def test_longer_wait_inside_the_guarantee_is_harm() -> None:
    found = harm([record("a", 0, 41), record("b", 500, 700)], [record("a", 0, 0), record("b", 500, 510)])
    assert [(each.job.name, each.late_seconds) for each in found.harmed] == [("b", 150), ("a", 1)]
    assert found.owed == 2


def test_who_asked_for_more_than_the_guarantee_meanwhile_is_owed_nothing() -> None:
    shared = [record("a", 0, 0, seconds=1000), record("b", 500, 5000)]
    assert harm(shared, [record("a", 0, 0), record("b", 500, 500)]) == Harm(1, ())
    assert len(harm(shared, [record("a", 0, 0), record("b", 500, 500)], guarantee=2).harmed) == 1


def test_what_ended_at_the_moment_of_arrival_no_longer_counts() -> None:
    shared = [record("a", 0, 0, seconds=500), record("b", 500, 900)]
    assert [each.job.name for each in harm(shared, [record("a", 0, 0), record("b", 500, 500)]).harmed] == [
        "b"
    ]


def test_never_starting_is_harm_only_if_the_partition_would_have_started_it() -> None:
    assert len(harm([record("a", 0, None)], [record("a", 0, 0)]).harmed) == 1
    assert harm([record("a", 0, None)], [record("a", 0, None)]).harmed == ()
