from hypothesis import given
from hypothesis import strategies as st

from corral.control.pace import Pace


def test_first_turn_is_at_once() -> None:
    pace = Pace(60)
    pace.begin(100)
    assert pace.due(hinted=False) == 100


def test_next_turn_comes_after_the_period() -> None:
    pace = Pace(60)
    pace.succeeded(100, more=False)
    assert pace.due(hinted=False) == 160


def test_hint_brings_the_next_turn_forward_but_not_without_a_rest() -> None:
    pace = Pace(60, rest_seconds=0.5)
    pace.succeeded(100, more=False)
    assert pace.due(hinted=True) == 100.5


def test_more_to_do_is_done_at_once_until_others_need_a_breath() -> None:
    pace = Pace(60, most_in_a_row=3, breath_seconds=2)
    dues = []
    for _ in range(6):
        pace.succeeded(100, more=True)
        dues.append(pace.due(hinted=False))
    assert dues == [100, 100, 102, 100, 100, 102]


def test_failures_back_off_exponentially_up_to_a_bound_and_success_resets() -> None:
    pace = Pace(5, first_delay_seconds=1, longest_delay_seconds=10, chance=lambda: 1.0)
    assert [pace.failed(0) for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    pace.succeeded(0, more=False)
    assert pace.failures == 0
    assert pace.failed(0) == 1


def test_hints_do_not_shorten_the_back_off() -> None:
    pace = Pace(5, first_delay_seconds=8, chance=lambda: 1.0)
    pace.failed(100)
    assert pace.due(hinted=True) == pace.due(hinted=False) == 108


@given(failures=st.integers(1, 5000), chance=st.floats(0, 1))
def test_back_off_has_jitter_within_half_of_its_bound(failures: int, chance: float) -> None:
    pace = Pace(5, first_delay_seconds=1, longest_delay_seconds=60, chance=lambda: chance)
    pace.failures = failures - 1
    full = min(60.0, 2.0 ** min(failures - 1, 30))
    assert full / 2 <= pace.failed(0) <= full


@given(st.lists(st.sampled_from(["done", "more", "failed"]), max_size=50))
def test_hinted_turn_is_never_later_than_an_unhinted_one(outcomes: list[str]) -> None:
    pace = Pace(5)
    for now, outcome in enumerate(outcomes):
        if outcome == "failed":
            pace.failed(now)
        else:
            pace.succeeded(now, more=outcome == "more")
        assert now <= pace.due(hinted=True) <= pace.due(hinted=False)
