"""Which reported values are taken, and how a long series stays short; pure."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from corral.core.runs import RunId
from corral.usage.metrics.tables import METRIC_NAME_LENGTH

MOST_NAMES = 64
MOST_POINTS = 4096
STEP = "step"
_LARGEST_STEP = 2**53


@dataclass(frozen=True, slots=True)
class Report:
    """What one message said. `body` is what the work gave to `report(...)`: a step and any names."""

    run: RunId
    number: int
    at: datetime
    body: Mapping[str, object]


class Value(NamedTuple):
    """`value` is None where the work reported infinity or what is no number."""

    name: str
    value: float | None


class Taken(NamedTuple):
    step: int | None
    values: tuple[Value, ...]
    dropped: int


def take(body: Mapping[str, object], names: Collection[str]) -> Taken:
    """The values of a report, for a workload that has used `names` until now; the rest is counted."""
    known, values, dropped = set(names), [], 0
    for name, given in body.items():
        if name == STEP:
            continue
        value = _number(given)
        fits = 0 < len(name) <= METRIC_NAME_LENGTH and name.isprintable()
        if value is None or not fits or (name not in known and len(known) >= MOST_NAMES):
            dropped += 1
            continue
        known.add(name)
        values.append(Value(name, value if math.isfinite(value) else None))
    return Taken(_step(body.get(STEP)), tuple(values), dropped)


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    try:
        return float(given)
    except OverflowError:
        return math.inf


def _step(given: object) -> int | None:
    if isinstance(given, bool) or not isinstance(given, int):
        return None
    return given if 0 <= given <= _LARGEST_STEP else None


def kept_points(reports: int, every: int) -> int:
    """How many points a series has: the first report, and one of every so many after it."""
    return -(-reports // every)


def every_after(reports: int, every: int) -> int:
    """Of how many reports one is kept, once there are so many: points are halved when they are too many."""
    while kept_points(reports, every) > MOST_POINTS:
        every *= 2
    return every
