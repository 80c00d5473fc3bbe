"""Stages that wait run beside others, at most as many as there are cores for, and are shown in order."""

import sys
import threading
from dataclasses import dataclass
from types import ModuleType

import pytest


@dataclass(frozen=True)
class Step:
    name: str
    cores: float = 1
    after: tuple[str, ...] = ()


@pytest.fixture
def schedule(runner: ModuleType) -> ModuleType:
    return sys.modules["schedule"]


def test_next_is_the_first_for_which_cores_are_idle(schedule: ModuleType) -> None:
    whole, half = Step("whole", 2), Step("half", 1)
    assert schedule.next_to_start([whole, half], [], set(), 2) == whole
    assert schedule.next_to_start([whole, half], [Step("a", 1)], set(), 2) == half
    assert schedule.next_to_start([whole, half], [Step("a", 2)], set(), 2) is None
    assert schedule.next_to_start([whole], [], set(), 1) == whole  # larger than the machine: alone


def test_who_reads_results_waits_for_them(schedule: ModuleType) -> None:
    reader = Step("reader", 0, after=("a", "b"))
    assert schedule.next_to_start([reader], [Step("b")], {"a"}, 2) is None
    assert schedule.next_to_start([reader], [], {"a", "b"}, 2) == reader


def test_two_run_at_once_and_the_slow_first_one_is_shown_first(schedule: ModuleType) -> None:
    second_ended, shown = threading.Event(), []

    def run(index: int) -> None:
        if index == 0:
            assert second_ended.wait(20), "the second did not run beside it"
        else:
            second_ended.set()

    schedule.run_side_by_side([Step("slow"), Step("fast")], run, shown.append, cores=2)
    assert shown == [0, 1]


def test_nothing_runs_beside_another_without_cores_for_it(schedule: ModuleType) -> None:
    running: list[int] = []
    most: list[int] = []

    def run(index: int) -> None:
        running.append(index)
        most.append(len(running))
        running.remove(index)

    schedule.run_side_by_side([Step(f"s{n}", 2) for n in range(4)], run, lambda _: None, cores=2)
    assert most == [1, 1, 1, 1]


def test_what_a_stage_raises_is_raised_and_nothing_is_started_after_it(schedule: ModuleType) -> None:
    begun: list[int] = []

    def run(index: int) -> None:
        begun.append(index)
        raise LookupError(index)

    with pytest.raises(LookupError):
        schedule.run_side_by_side([Step("a", 2), Step("b", 2)], run, lambda _: None, cores=2)
    assert begun == [0]
