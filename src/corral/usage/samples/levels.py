"""Levels of detail, how long each is kept, and which one answers a question. Times are seconds since 1970."""

from dataclasses import dataclass
from typing import NamedTuple

from corral.usage.samples.points import SubjectKind

_HOUR, _DAY = 3600, 86400
# Longer spans of single points are not read: they lie in order of time, those of all series together.
LONGEST_RAW_SECONDS = _HOUR // 2
# Points this far in the past are refused: what they belong to may have been forgotten in part.
_SPARE_SECONDS = _HOUR


class Level(NamedTuple):
    """`width_seconds` is how long a row stands for, `block_seconds` how much is rolled up at a time.

    Ten minutes at a time, because the rows of a series lie together: one page written for ten of them.
    """

    name: str
    width_seconds: int
    block_seconds: int


RAW = Level("raw", 1, 1)
MINUTE = Level("minute", 60, 600)
HOUR = Level("hour", _HOUR, _HOUR)
DAY = Level("day", _DAY, _DAY)
LEVELS = (RAW, MINUTE, HOUR, DAY)
ROLLED = (MINUTE, HOUR, DAY)


def finer(level: Level) -> Level:
    return LEVELS[LEVELS.index(level) - 1]


def start_of(at: int, width_seconds: int) -> int:
    return at - at % width_seconds


@dataclass(frozen=True, slots=True)
class Retention:
    """How long each level is kept; a workload's samples go together, so long after its last one."""

    raw_hours: int = 24
    minute_days: int = 14
    hour_days: int = 180
    day_days: int = 1095
    workload_days: int = 30

    def seconds(self, level: Level) -> int:
        return {
            "raw": self.raw_hours * _HOUR,
            "minute": self.minute_days * _DAY,
            "hour": self.hour_days * _DAY,
            "day": self.day_days * _DAY,
        }[level.name]

    def kept_from(self, level: Level, now: int) -> int:
        """What is older is forgotten, whole blocks of the level above at a time."""
        return start_of(now - self.seconds(level), _DAY if level in (HOUR, DAY) else _HOUR)

    def accepted_from(self, now: int) -> int:
        """Older points come too late: they could no longer be rolled up exactly."""
        return now - self.seconds(RAW) + _SPARE_SECONDS

    def dead_before(self, kind: SubjectKind, now: int) -> int:
        """A series whose last point is older is removed."""
        days = self.day_days if kind in ("node", "device") else self.workload_days
        # Its single points are gone by then, whatever the settings say.
        return now - max(days * _DAY, self.seconds(RAW) + _DAY)


class Choice(NamedTuple):
    """A level, and how many seconds of it make one point of the answer."""

    level: Level
    step_seconds: int


def choose(since: int, until: int, points: int, now: int, retention: Retention) -> Choice:
    """The finest detail that is still there and fits into so many points."""
    span = max(1, until - since)
    step = -(-span // points)
    fitting = [level for level in LEVELS if level.width_seconds <= step] or [RAW]
    level = fitting[-1]
    if level is RAW and span > LONGEST_RAW_SECONDS:
        level = MINUTE
    while level is not DAY and retention.kept_from(level, now) > since:
        level = LEVELS[LEVELS.index(level) + 1]
    return Choice(level, max(1, -(-step // level.width_seconds)) * level.width_seconds)
