"""One reading of the clocks: which boot, how long it has lasted, and what the calendar says.

The boot-time clock counts sleep and cannot be set; the wall clock can. So durations are differences of the
first, and the second only says which hour of the calendar they fall in.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Mark(NamedTuple):
    """A moment on the clock of one boot; marks of two boots cannot be compared."""

    boot_id: str
    boottime_us: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A mark and the wall clock, read together."""

    mark: Mark
    at: datetime

    @property
    def offset_us(self) -> int:
        """What to add to this boot's time to get microseconds of the calendar."""
        return microseconds_of(self.at) - self.mark.boottime_us

    def mark_of(self, at_us: int) -> Mark:
        """When an instant of the calendar was on this boot's clock, if the calendar was not set since."""
        return Mark(self.mark.boot_id, at_us - self.offset_us)


ReadClock = Callable[[], Reading]


def read_clock() -> Reading:
    boottime_us = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    return Reading(Mark(_BOOT_ID.read_text().strip(), boottime_us), datetime.now(UTC))


def clock_in(domain: str | None, now: Callable[[], datetime]) -> ReadClock:
    """How the time of a zone is read: its engine's own clock, or that of this machine's boot.

    The time of a zone that is on no machine is the same in every process, so it is the database's.
    """
    if domain is None:
        return read_clock

    def read() -> Reading:
        at = now()
        return Reading(Mark(domain, microseconds_of(at)), at)

    return read


def microseconds_of(at: datetime) -> int:
    return (at - _EPOCH) // _MICROSECOND


def moment_of(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND
