"""Queued work changes its zone seldom, and only to start at once."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from corral.workloads.zone_moves import MoveRule, Outlook

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
RULE = MoveRule(timedelta(seconds=30))
ZONES = "abc"
UNKNOWN = Outlook("here", None)


def there(seconds: int | None) -> Outlook:
    return Outlook("there", None if seconds is None else NOW + timedelta(seconds=seconds))


def test_work_is_due_after_its_wait_and_after_its_rest() -> None:
    waited, rested = NOW - RULE.wait, NOW - RULE.rest
    second = timedelta(seconds=1)
    assert RULE.is_due(waited, None, NOW)
    assert not RULE.is_due(waited + second, None, NOW)
    assert RULE.is_due(rested, rested, NOW)
    assert not RULE.is_due(rested, rested + second, NOW)


def test_work_moves_only_to_a_zone_that_starts_it_now() -> None:
    assert RULE.target(UNKNOWN, [there(0)], NOW) == "there"
    assert RULE.target(UNKNOWN, [there(1)], NOW) is None
    assert RULE.target(UNKNOWN, [there(None)], NOW) is None
    assert RULE.target(UNKNOWN, [there(None), Outlook("first", NOW), Outlook("next", NOW)], NOW) == "first"


def test_work_that_starts_soon_where_it_is_stays() -> None:
    soon, late = NOW + RULE.wait, NOW + RULE.wait + timedelta(seconds=1)
    assert RULE.target(Outlook("here", soon), [there(0)], NOW) is None
    assert RULE.target(Outlook("here", late), [there(0)], NOW) == "there"


# What every zone says in each turn of the loop: after how many seconds it would start the work, if ever.
_turns = st.lists(
    st.fixed_dictionaries({name: st.none() | st.sampled_from([0, 10, 3600]) for name in ZONES}),
    min_size=1,
    max_size=200,
)


@given(_turns, st.integers(1, 60))
def test_work_is_never_tossed_between_zones(turns: list[dict[str, int | None]], period: int) -> None:
    zone, moved_at, moves, now = ZONES[0], None, [], NOW
    for says in turns:
        now += timedelta(seconds=period)
        outlooks = {
            name: Outlook(name, None if seconds is None else now + timedelta(seconds=seconds))
            for name, seconds in says.items()
        }
        here = outlooks.pop(zone)
        if not RULE.is_due(NOW, moved_at, now):
            continue
        target = RULE.target(here, list(outlooks.values()), now)
        if target is not None:
            assert says[target] == 0
            assert says[zone] not in {0, 10}
            zone, moved_at = target, now
            moves.append(now)
    assert all(at - NOW >= RULE.wait for at in moves)
    assert all(later - earlier >= RULE.rest for earlier, later in pairwise(moves))
