"""What placement remembers of the work that arrived."""

import json

import pytest

from corral.scheduling.room_mix import Experience, Mix, WorkClass

SMALL = WorkClass(1000, 1024, gpus=1, gpu_milli=100)
LARGE = WorkClass(8000, 65536, gpus=8, gpu_milli=1000, models=("A", "B"))


def test_it_is_time_to_learn_at_powers_of_two_and_then_every_thousand() -> None:
    mix = Mix()
    due = [number for number in range(1, 4100) if mix.note(SMALL)]
    assert due == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2024, 3024, 4024]


def test_only_work_on_gpus_is_learnt_from() -> None:
    mix = Mix()
    mix.note(WorkClass(1000, 1024))
    assert mix.gpu_counts() == ()
    mix.note(SMALL)
    assert [work for work, _ in mix.gpu_counts()] == [SMALL]


def test_old_arrivals_fade_and_are_forgotten_in_the_end() -> None:
    mix = Mix()
    mix.note(SMALL)
    mix.note(LARGE)
    mix.fade(4)
    assert set(mix.counts.values()) == {750}
    for _ in range(30):
        mix.note(LARGE)
        mix.fade(4)
    assert set(mix.counts) == {LARGE}


def test_turnover_is_how_many_leave_of_those_that_arrive() -> None:
    mix = Mix()
    assert mix.turnover() == 0
    for _ in range(4):
        mix.note(SMALL)
    mix.note_departure()
    assert mix.turnover() == 250
    mix.fade(2)
    assert mix.turnover() == 250


def test_a_mix_survives_being_stored() -> None:
    mix = Mix()
    for work in (SMALL, LARGE, SMALL):
        mix.note(work)
    mix.note_departure()
    mix.learnt = Experience(mix.gpu_counts(), (5, 7), mix.turnover())
    assert Mix.from_json(json.loads(json.dumps(mix.as_json()))) == mix


def test_a_slice_in_mib_is_rounded_up_to_a_thousandth_of_the_device() -> None:
    work = WorkClass(1000, 1024, gpus=1, slice_mib=10000)
    assert work.milli_on(40000) == 250
    assert work.milli_on(40960) == 245
    assert work.milli_on(8192) > 1000


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"cpu_milli": -1}, "negative"),
        ({"gpus": 1}, "either"),
        ({"gpus": 1, "gpu_milli": 10, "slice_mib": 10}, "either"),
        ({"gpu_milli": 10}, "no share"),
        ({"gpus": 1, "gpu_milli": 1001}, "at most"),
        ({"gpus": 1, "gpu_milli": 10, "models": ("B", "A")}, "sorted"),
    ],
)
def test_an_impossible_request_is_refused(request_: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        WorkClass(**{"cpu_milli": 0, "memory_mib": 0, **request_})  # type: ignore[arg-type]
