"""Links: the exact choice, what it leaves, and the rule for many devices."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from corral.scheduling.state.device_links import MOST_COMPARED, Links

PAIRS = [(0, 1, 9), (2, 3, 9), (4, 5, 9), (6, 7, 9), (0, 2, 1), (1, 3, 1)]


def total(wired: list[tuple[int, int, int]], devices: tuple[int, ...]) -> int:
    return sum(score for one, other, score in wired if one in devices and other in devices)


def test_two_devices_are_a_linked_pair() -> None:
    assert Links(8, PAIRS).choose([], range(8), 2) == (4, 5)


def test_one_device_breaks_the_poorest_pair() -> None:
    assert Links(5, [(0, 1, 9), (2, 3, 9)]).choose([], range(5), 1) == (4,)


def test_what_must_be_taken_is_taken_with_its_partner() -> None:
    assert Links(8, PAIRS).choose([7], [0, 1, 6], 2) == (6, 7)


wirings = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 9)).filter(lambda link: link[0] < link[1]),
    unique_by=lambda link: link[:2],
    max_size=15,
)


@given(wirings, st.integers(1, 6))
def test_no_set_has_more_links_and_none_of_those_leaves_more(
    wired: list[tuple[int, int, int]], count: int
) -> None:
    chosen = Links(6, wired).choose([], range(6), count)

    def worth(devices: tuple[int, ...]) -> tuple[int, int]:
        return total(wired, devices), total(wired, tuple(set(range(6)) - set(devices)))

    assert worth(chosen) == max(worth(each) for each in combinations(range(6), count))


def test_many_devices_are_grown_from_the_best_start() -> None:
    islands = [
        (one, other, 5) for base in (0, 4, 8, 12) for one, other in combinations(range(base, base + 4), 2)
    ]
    across = [(3, 4, 1), (7, 8, 1), (11, 12, 1)]
    links = Links(16, [*islands, *across])
    assert len(range(16)) > MOST_COMPARED
    assert links.choose([], range(16), 4) == (0, 1, 2, 3)
    assert links.choose([], [*range(2, 16)], 4) == (12, 13, 14, 15)
