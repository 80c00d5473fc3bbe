"""What the ledger decides, without a database: which pieces of time are written down, and when.

Times are microseconds of one boot; `offset_us` added to them gives the calendar, in which pieces are cut at
hours.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

HOUR_US = 3600 * 1_000_000

Outcome = Literal["used", "lost"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of time within one hour of the calendar; `sign` is -1 where it takes an earlier one back."""

    start_us: int
    end_us: int
    outcome: Outcome
    sign: Literal[1, -1] = 1


@dataclass(frozen=True, slots=True)
class Holding:
    """What is known of an allocation that has not ended: written down, as used, are all hours before
    `recorded_us`."""

    offset_us: int
    opened_us: int
    beat_us: int
    recorded_us: int


@dataclass(frozen=True, slots=True)
class Settlement:
    """How an allocation ended."""

    ended_us: int
    lost_us: int
    pieces: tuple[Piece, ...]


def next_hour_us(moment_us: int, offset_us: int) -> int:
    """When the hour of the calendar in which `moment_us` lies is over."""
    calendar_us = moment_us + offset_us
    return calendar_us - calendar_us % HOUR_US + HOUR_US - offset_us


def full_hours(holding: Holding) -> tuple[Piece, ...]:
    """The hours that are over and not written down yet; nothing after the last heartbeat is among them."""
    calendar_us = holding.beat_us + holding.offset_us
    until_us = holding.beat_us - calendar_us % HOUR_US
    return tuple(_cut(holding.recorded_us, until_us, holding.offset_us, "used"))


def unrecorded(holding: Holding) -> tuple[Piece, ...]:
    """What an open allocation was seen to hold, and no record tells yet."""
    return tuple(_cut(holding.recorded_us, holding.beat_us, holding.offset_us, "used"))


def settle(holding: Holding, released_us: int | None, lost_since_us: int | None) -> Settlement:
    """What is still to be written when an allocation ends.

    Without a known end it ends at its last heartbeat. What was written down as used and turns out to have
    been lost, or to lie after the end, is taken back first: records are never changed.
    """
    opened, recorded, offset = holding.opened_us, holding.recorded_us, holding.offset_us
    ended = max(opened, holding.beat_us if released_us is None else released_us)
    lost = ended if lost_since_us is None else min(max(opened, lost_since_us), ended)
    right_until = min(recorded, lost)
    pieces = (
        *_cut(right_until, recorded, offset, "used", -1),
        *_cut(right_until, lost, offset, "used"),
        *_cut(lost, ended, offset, "lost"),
    )
    return Settlement(ended, ended - lost, pieces)


def _cut(
    start_us: int, end_us: int, offset_us: int, outcome: Outcome, sign: Literal[1, -1] = 1
) -> Iterator[Piece]:
    while start_us < end_us:
        cut_us = min(next_hour_us(start_us, offset_us), end_us)
        yield Piece(start_us, cut_us, outcome, sign)
        start_us = cut_us
