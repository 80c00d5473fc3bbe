"""What placement remembers of the work that arrived."""

import pytest

from corral.core.mixes import ClassCount, Experience, Mix, WorkClass
from corral.core.workloads import DeviceRequest, Request
from corral.scheduling.placing.arrival_mix import Tally, after, work_class

SMALL = WorkClass(1000, 1024, gpus=1, gpu_milli=100)
LARGE = WorkClass(8000, 65536, gpus=8, gpu_milli=1000, models=("A", "B"))


def test_it_is_time_to_learn_at_powers_of_two_and_then_every_thousand() -> None:
    mix = Tally()
    due = [number for number in range(1, 4100) if mix.note(SMALL)]
    assert due == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2024, 3024, 4024]


def test_only_work_on_gpus_is_learnt_from() -> None:
    mix = Tally()
    mix.note(WorkClass(1000, 1024))
    assert mix.gpu_counts() == ()
    mix.note(SMALL)
    assert [each.work for each in mix.gpu_counts()] == [SMALL]


def test_old_arrivals_fade_and_are_forgotten_in_the_end() -> None:
    mix = Tally()
    mix.note(SMALL)
    mix.note(LARGE)
    mix.fade(4)
    assert set(mix.counts.values()) == {750}
    for _ in range(30):
        mix.note(LARGE)
        mix.fade(4)
    assert set(mix.counts) == {LARGE}


def test_turnover_is_how_many_leave_of_those_that_arrive() -> None:
    mix = Tally()
    assert mix.turnover() == 0
    for _ in range(4):
        mix.note(SMALL)
    mix.note_departure()
    assert mix.turnover() == 250
    mix.fade(2)
    assert mix.turnover() == 250


def test_counting_goes_on_from_a_stored_mix() -> None:
    whole = Tally()
    half = Tally()
    for work in (SMALL, LARGE):
        whole.note(work)
        half.note(work)
    whole.note_departure()
    half.note_departure()
    again = Tally(half.mix())
    whole.note(SMALL)
    again.note(SMALL)
    assert again.mix() == whole.mix()


def test_what_was_learnt_stays_until_it_is_time_to_learn_again() -> None:
    learnt = Experience((ClassCount(SMALL, 1000),), ("A:1:any",), (7,))
    mix, due = after(Mix(arrivals=2, learnt=learnt), [SMALL], left=1)
    assert (mix.arrivals, mix.departures, mix.learnt, due) == (3, 1000, learnt, False)
    assert after(mix, [LARGE])[1]


@pytest.mark.parametrize(
    ("devices", "work"),
    [
        (None, WorkClass(1000, 2048)),
        (DeviceRequest(2, models=("B", "A")), WorkClass(1000, 2048, 2, 1000, models=("A", "B"))),
        (DeviceRequest(fraction_milli=250), WorkClass(1000, 2048, 1, 250)),
        (DeviceRequest(fraction_milli=250, compute_percent=50), WorkClass(1000, 2048, 1, 500)),
        (DeviceRequest(memory_mib=4096), WorkClass(1000, 2048, 1, 0, 4096)),
        (DeviceRequest(memory_mib=4096, compute_percent=30), WorkClass(1000, 2048, 1, 300, 4096)),
    ],
)
def test_requests_become_classes_of_work(devices: DeviceRequest | None, work: WorkClass) -> None:
    assert work_class(Request(1000, 2048, devices)) == work


def test_a_slice_by_memory_and_compute_takes_the_larger_share() -> None:
    work = WorkClass(0, 0, gpus=1, gpu_milli=300, slice_mib=10000)
    assert (work.milli_on(40000), work.milli_on(20000)) == (300, 500)


def test_a_slice_in_mib_is_rounded_up_to_a_thousandth_of_the_device() -> None:
    work = WorkClass(1000, 1024, gpus=1, slice_mib=10000)
    assert work.milli_on(40000) == 250
    assert work.milli_on(40960) == 245
    assert work.milli_on(8192) > 1000


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"cpu_milli": -1}, "negative"),
        ({"gpus": 1}, "gpu_milli, slice_mib or a profile"),
        ({"gpus": 1, "gpu_milli": 10, "profile": "1g"}, "the device defines"),
        ({"profile": "1g"}, "no share"),
        ({"gpu_milli": 10}, "no share"),
        ({"gpus": 1, "gpu_milli": 1001}, "at most"),
        ({"gpus": 1, "gpu_milli": 10, "models": ("B", "A")}, "sorted"),
    ],
)
def test_an_impossible_request_is_refused(request_: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        WorkClass(**{"cpu_milli": 0, "memory_mib": 0, **request_})  # type: ignore[arg-type]
