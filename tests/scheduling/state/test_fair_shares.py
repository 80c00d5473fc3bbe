"""The division formula, number by number."""

from hypothesis import given
from hypothesis import strategies as st

from corral.scheduling.state.fair_shares import INFINITE, Claimant, divide


def queue(name: str, demand: int, guarantee: int = 0, **more: int | bool) -> Claimant:
    return Claimant(name, demand, guarantee, **more)  # type: ignore[arg-type]


def test_everyone_gets_what_they_want_inside_their_guarantee() -> None:
    assert divide(10, [queue("a", 3, 4), queue("b", 9, 6)]) == [3, 7]


def test_guarantees_larger_than_the_total_are_not_scaled() -> None:
    assert divide(4, [queue("a", 5, 5), queue("b", 5, 5)]) == [5, 5]


def test_surplus_goes_by_weight() -> None:
    assert divide(12, [queue("a", 99, weight=1), queue("b", 99, weight=3)]) == [3, 9]


def test_weight_zero_takes_no_surplus() -> None:
    assert divide(12, [queue("a", 99, 2, weight=0), queue("b", 5)]) == [2, 5]


def test_what_one_does_not_want_is_offered_again() -> None:
    assert divide(12, [queue("a", 1), queue("b", 99), queue("c", 99)]) == [1, 6, 5]


def test_higher_priority_is_served_before_weights_count() -> None:
    shares = divide(10, [queue("a", 99, weight=9), queue("b", 8, priority=1), queue("c", 1, priority=1)])
    assert shares == [1, 8, 1]


def test_limit_bounds_what_is_wanted() -> None:
    assert divide(10, [queue("a", 99, limit=2), queue("b", 99)]) == [2, 8]


def test_offers_are_rounded_down_to_the_unit_and_the_rest_goes_one_unit_each() -> None:
    # 5 000 in thirds is 1 666: one GPU each, and two are left for the two oldest.
    shares = divide(
        5000,
        [queue("a", 9000, created=3), queue("b", 9000, created=1), queue("c", 9000, created=2)],
        unit=1000,
    )
    assert shares == [1000, 2000, 2000]


def test_larger_remainder_comes_before_age() -> None:
    # 4 * 5/8 = 2.5 and 4 * 3/8 = 1.5 are equal remainders; 3 * 5/8 = 1.875 beats 1.125.
    young, old = queue("a", 99, weight=5, created=9), queue("b", 99, weight=3, created=1)
    assert divide(4, [young, old]) == [2, 2]
    assert divide(3, [young, old]) == [2, 1]


def test_equal_queues_are_told_apart_by_name() -> None:
    assert divide(1, [queue("b", 9), queue("a", 9)]) == [0, 1]


def test_leftovers_are_given_in_whole_units_and_the_last_one_gets_the_rest() -> None:
    assert divide(3000, [queue("a", 1700), queue("b", 9000)], unit=1000) == [1700, 1300]
    assert divide(3000, [queue("a", 1400), queue("b", 9000), queue("c", 9000)], unit=1000) == [
        1000,
        1000,
        1000,
    ]
    assert divide(4700, [queue("a", 2200), queue("b", 9000), queue("c", 9000)], unit=1000) == [
        2000,
        1700,
        1000,
    ]


def test_leftovers_are_never_more_than_is_wanted() -> None:
    assert divide(1000, [queue("a", 700), queue("b", 700)], unit=1000) == [700, 300]


def test_who_wants_exactly_the_offer_takes_it_whatever_the_unit() -> None:
    assert divide(3000, [queue("a", 1500), queue("b", 1500)], unit=1000) == [1500, 1500]


def test_slices_share_one_gpu_where_the_unit_is_small() -> None:
    assert divide(1000, [queue("a", 900), queue("b", 900), queue("c", 900)], unit=1) == [334, 333, 333]


def test_fixed_queue_takes_no_surplus_and_its_unused_guarantee_is_nobodys() -> None:
    assert divide(10, [queue("a", 99, 4, fixed=True), queue("b", 99)]) == [4, 6]
    assert divide(10, [queue("a", 1, 4, fixed=True), queue("b", 99)]) == [1, 6]


def test_fixed_queue_that_is_guaranteed_everything_keeps_what_it_uses() -> None:
    assert divide(10, [queue("a", 3, INFINITE, fixed=True), queue("b", 99)]) == [3, 7]


def test_recent_usage_turns_the_weights_by_k() -> None:
    busy, idle = queue("busy", 99, usage_ppm=750_000), queue("idle", 99, usage_ppm=250_000)
    assert divide(16, [busy, idle]) == [8, 8]
    # n = 1/2: s = 1/2 + 1 * (1/2 - 3/4) = 1/4 and 1/2 + 1 * (1/2 - 1/4) = 3/4
    assert divide(16, [busy, idle], history_milli=1000) == [4, 12]
    # With k = 2 the busy one is at 1/2 - 2/4 = 0 and gets nothing while the other wants it.
    assert divide(16, [busy, idle], history_milli=2000) == [0, 16]


def test_recent_usage_turns_the_weights_exactly() -> None:
    busy, idle = queue("busy", 10**9, usage_ppm=750_000), queue("idle", 10**9, usage_ppm=250_000)
    assert divide(16_000_000, [busy, idle]) == [8_000_000, 8_000_000]
    assert divide(16_000_000, [busy, idle], history_milli=1000) == [4_000_000, 12_000_000]


def test_who_wants_no_more_than_is_guaranteed_has_no_part_in_the_weights() -> None:
    busy, idle = queue("busy", 99, usage_ppm=750_000), queue("idle", 99, usage_ppm=250_000)
    assert divide(18, [busy, idle, queue("content", 2, 2)], history_milli=1000) == [4, 12, 2]


def test_surplus_that_recent_usage_denies_to_all_goes_to_lower_priorities() -> None:
    # n = 1/2, u = 1, k = 2: s = 1/2 + 2 * (1/2 - 1) is below 0 for both.
    spent = [queue(name, 99, priority=1, usage_ppm=1_000_000) for name in "ab"]
    assert divide(16, [*spent, queue("c", 9)], history_milli=2000) == [0, 0, 9]


def test_rest_that_is_smaller_than_the_unit_goes_to_whom_it_is_enough_or_the_first_in_line() -> None:
    high = [queue(name, 9000, priority=1) for name in "ab"]
    assert divide(2500, [*high, queue("c", 99)], unit=1000) == [1401, 1000, 99]
    assert divide(2500, [*high, queue("c", 9000)], unit=1000) == [1500, 1000, 0]


def test_history_counts_only_while_others_want_more() -> None:
    busy, idle = queue("busy", 99, usage_ppm=400_000), queue("idle", 2)
    assert divide(16, [busy, idle], history_milli=1000) == [14, 2]


claimants = st.lists(
    st.builds(
        Claimant,
        name=st.uuids().map(str),
        demand=st.integers(0, 20_000),
        guarantee=st.integers(0, 8000),
        limit=st.integers(0, 20_000),
        weight=st.integers(0, 5),
        priority=st.integers(0, 2),
        created=st.integers(0, 3),
        fixed=st.booleans(),
        usage_ppm=st.integers(0, 1_000_000),
    ),
    max_size=6,
)


@given(claimants, st.integers(0, 30_000), st.sampled_from([1, 10, 1000]), st.sampled_from([0, 500, 3000]))
def test_nobody_gets_more_than_wanted_nor_less_than_guaranteed(
    queues: list[Claimant], total: int, unit: int, history: int
) -> None:
    shares = divide(total, queues, unit=unit, history_milli=history)
    for each, share in zip(queues, shares, strict=True):
        assert min(each.guarantee, each.wanted) <= share <= max(each.wanted, 0)
    surplus = sum(
        share - min(each.guarantee, each.wanted) for each, share in zip(queues, shares, strict=True)
    )
    promised = sum(each.guarantee if each.fixed else min(each.guarantee, each.wanted) for each in queues)
    assert surplus <= max(0, total - promised)


@given(claimants, st.integers(0, 30_000))
def test_nothing_that_someone_of_weight_wants_is_left_over(queues: list[Claimant], total: int) -> None:
    shares = divide(total, queues)
    given_out = sum(
        each.guarantee if each.fixed else share for each, share in zip(queues, shares, strict=True)
    )
    hungry = [
        each.name
        for each, share in zip(queues, shares, strict=True)
        if each.wanted > share and each.weight and not each.fixed
    ]
    assert not hungry or given_out >= total


def test_who_wants_exactly_its_offer_takes_it_before_anything_is_rounded() -> None:
    assert divide(3000, [queue("a", 1500, created=2), queue("b", 9000, created=1)], unit=1000) == [1500, 1500]


def test_what_is_left_of_a_unit_goes_down_the_line_and_nobody_gets_more_than_it_wants() -> None:
    assert divide(2500, [queue("a", 1400), queue("b", 9000)], unit=1000) == [1400, 1100]


def test_a_whole_unit_that_is_left_stays_with_the_priority_that_it_was_divided_in() -> None:
    claimants = [queue("a", 9000, priority=1), queue("b", 9000, priority=1), queue("c", 1000)]
    assert divide(3000, claimants, unit=1000) == [2000, 1000, 0]
