"""Run times are learnt from what finished."""

from corral.replay.learning import RunTimes


def test_typical_run_time_is_the_middle_of_enough_finished_work() -> None:
    learnt = RunTimes()
    for seconds in (10, 1000, 30, 20):
        learnt.finished("team", seconds)
    assert learnt.typical("team") is None
    learnt.finished("team", 40)
    assert learnt.typical("team") == 30
    assert learnt.typical("other") is None
