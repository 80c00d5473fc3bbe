"""What the ledger decides, with its numbers: which pieces of time are written down, and when."""

import pytest

from corral.usage.rules import HOUR_US, Holding, Piece, full_hours, next_hour_us, settle, unrecorded

MINUTE = 60 * 1_000_000
# The boot was at half past of some hour: its minute 30 is a full hour of the calendar.
OFFSET = 500 * HOUR_US + 30 * MINUTE


def holding(opened: int = 10, beat: int = 20, recorded: int | None = None) -> Holding:
    """In minutes since the boot; recorded up to where it was opened, unless said."""
    begun = opened if recorded is None else recorded
    return Holding(OFFSET, opened * MINUTE, beat * MINUTE, begun * MINUTE)


def minutes(pieces: tuple[Piece, ...]) -> list[tuple[float, float, str, int]]:
    return [(one.start_us / MINUTE, one.end_us / MINUTE, one.outcome, one.sign) for one in pieces]


@pytest.mark.parametrize(("moment", "end"), [(0, 30), (29, 30), (30, 90), (31, 90), (90, 150), (-31, -30)])
def test_hour_ends_where_the_calendars_does(moment: int, end: int) -> None:
    assert next_hour_us(moment * MINUTE, OFFSET) == end * MINUTE


def test_last_microsecond_belongs_to_its_hour() -> None:
    assert next_hour_us(30 * MINUTE - 1, OFFSET) == 30 * MINUTE
    assert HOUR_US == 3_600_000_000


@pytest.mark.parametrize(
    ("beat", "expected"),
    [
        (29, []),
        (30, [(10, 30, "used", 1)]),
        (89, [(10, 30, "used", 1)]),
        (151, [(10, 30, "used", 1), (30, 90, "used", 1), (90, 150, "used", 1)]),
    ],
)
def test_hours_are_written_down_when_they_are_over(beat: int, expected: list[object]) -> None:
    assert minutes(full_hours(holding(beat=beat))) == expected


def test_calendar_is_ahead_of_the_boot_by_the_offset() -> None:
    ahead = Holding(20 * MINUTE, 0, 45 * MINUTE, 0)
    assert minutes(full_hours(ahead)) == [(0, 40, "used", 1)]


def test_hours_are_written_down_once() -> None:
    assert minutes(full_hours(holding(beat=100, recorded=30))) == [(30, 90, "used", 1)]
    assert full_hours(holding(beat=100, recorded=90)) == ()


def test_open_allocation_was_seen_until_its_last_heartbeat() -> None:
    assert minutes(unrecorded(holding(beat=40, recorded=20))) == [(20, 30, "used", 1), (30, 40, "used", 1)]
    assert unrecorded(holding(beat=40, recorded=40)) == ()


def test_end_that_is_known_is_the_end() -> None:
    settled = settle(holding(beat=20), 25 * MINUTE, None)
    assert (settled.ended_us, settled.lost_us) == (25 * MINUTE, 0)
    assert minutes(settled.pieces) == [(10, 25, "used", 1)]


def test_without_a_known_end_it_ends_at_its_last_heartbeat() -> None:
    settled = settle(holding(beat=40, recorded=30), None, None)
    assert (settled.ended_us, settled.lost_us) == (40 * MINUTE, 0)
    assert minutes(settled.pieces) == [(30, 40, "used", 1)]


def test_it_never_ends_before_it_began() -> None:
    for released in (5 * MINUTE, None):
        settled = settle(holding(opened=10, beat=5), released, None)
        assert (settled.ended_us, settled.lost_us, settled.pieces) == (10 * MINUTE, 0, ())


def test_use_after_the_end_is_taken_back() -> None:
    settled = settle(holding(beat=100, recorded=90), 80 * MINUTE, None)
    assert settled.ended_us == 80 * MINUTE
    assert minutes(settled.pieces) == [(80, 90, "used", -1)]


def test_time_that_turns_out_to_be_lost_is_taken_back_hour_by_hour_and_written_as_lost() -> None:
    settled = settle(holding(beat=160, recorded=150), 160 * MINUTE, 20 * MINUTE)
    assert (settled.ended_us, settled.lost_us) == (160 * MINUTE, 140 * MINUTE)
    assert minutes(settled.pieces) == [
        (20, 30, "used", -1),
        (30, 90, "used", -1),
        (90, 150, "used", -1),
        (20, 30, "lost", 1),
        (30, 90, "lost", 1),
        (90, 150, "lost", 1),
        (150, 160, "lost", 1),
    ]


def test_what_is_lost_after_the_last_record_leaves_the_time_before_used() -> None:
    settled = settle(holding(beat=50, recorded=30), 60 * MINUTE, 40 * MINUTE)
    assert settled.lost_us == 20 * MINUTE
    assert minutes(settled.pieces) == [(30, 40, "used", 1), (40, 60, "lost", 1)]


@pytest.mark.parametrize(("since", "lost"), [(0, 15), (10, 15), (25, 0), (40, 0)])
def test_no_more_is_lost_than_was_held(since: int, lost: int) -> None:
    settled = settle(holding(opened=10, beat=20), 25 * MINUTE, since * MINUTE)
    assert settled.lost_us == lost * MINUTE
    assert sum(one.end_us - one.start_us for one in settled.pieces if one.outcome == "lost") == lost * MINUTE
