"""What is learnt of run times from what ended and from what still runs."""

from corral.scheduling.timing.run_time_history import NEWEST, RunTimeHistory, Span, likely


def whole(*seconds: int) -> list[Span]:
    return [(0, each) for each in seconds]


def test_typical_run_time_is_the_middle_of_enough_ended_work() -> None:
    learnt = RunTimeHistory()
    for seconds in (10, 1000, 30, 20):
        learnt.ended(["team"], 2000, seconds)
    assert learnt.statistics("team", 2000).typical_runtime_seconds is None
    learnt.ended(["team"], 2000, 40)
    assert learnt.statistics("team", 2000).typical_runtime_seconds == 30
    assert learnt.statistics("other", 2000).typical_runtime_seconds is None


def test_work_that_did_not_end_yet_makes_longer_run_times_likelier() -> None:
    ended = whole(10, 20, 30, 40, 50)
    assert likely(ended[:4]) == ()
    assert (likely(ended)[0], likely(ended)[49], likely(ended)[-1]) == (10, 30, 50)
    with_long = likely(ended, whole(1000, 1000, 1000, 1000, 1000))
    assert with_long[48] == 50, "half of ten"
    assert with_long[-1] == 2000, "what still runs is expected to run as long again"


def test_work_that_was_long_there_when_one_began_to_look_makes_short_run_times_no_rarer() -> None:
    ended, old = whole(*range(10, 210, 10)), [(900, 1000)] * 20
    assert likely(ended, old)[:75] == likely(ended)[:75]
    assert likely(ended, old)[-1] == 2000


def test_only_the_newest_ends_of_a_queue_count() -> None:
    learnt = RunTimeHistory()
    for at in range(NEWEST):
        learnt.ended(["team"], at, 10)
    for at in range(NEWEST):
        learnt.ended(["team"], NEWEST + at, 70)
    assert set(learnt.statistics("team", 2 * NEWEST).runtimes_seconds) == {70}


def test_an_end_counts_for_the_queues_above_too() -> None:
    learnt = RunTimeHistory()
    for person in ("ana", "bert", "carl", "dora", "emil"):
        learnt.ended([person, "institute"], 100, 60)
    assert learnt.due == ["institute"]
    assert learnt.statistics("institute", 100).typical_runtime_seconds == 60
    assert learnt.statistics("ana", 100).typical_runtime_seconds is None


def test_a_lesson_is_due_again_when_a_tenth_of_it_is_new() -> None:
    learnt = RunTimeHistory()
    for at in range(100):
        learnt.ended(["team"], at, 60)
    learnt.statistics("team", 100)
    for at in range(11):
        learnt.ended(["team"], 100 + at, 60)
        assert learnt.due == []
    learnt.ended(["team"], 111, 60)
    assert learnt.due == ["team"]
