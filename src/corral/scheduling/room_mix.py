"""What kinds of work arrive, and how often: the experience that placement learns from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

WHOLE_GPU_MILLI = 1000
# Counts are kept in thousandths of an arrival, so that a slow decay of small counts is not lost to rounding.
ONE_ARRIVAL = 1000
LEARN_OFTEN_UNTIL = 1024
LEARN_EVERY = 1000


@dataclass(frozen=True, slots=True, order=True)
class WorkClass:
    """One replica's request, as placement sees it: equal requests are the same class of work.

    A GPU request is either `gpu_milli` or `slice_mib` on each of `gpus` devices; no `models` means any model.
    """

    cpu_milli: int
    memory_mib: int
    gpus: int = 0
    gpu_milli: int = 0
    slice_mib: int = 0
    models: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if min(self.cpu_milli, self.memory_mib, self.gpus, self.gpu_milli, self.slice_mib) < 0:
            raise ValueError(f"a class of work has no negative quantities: {self}")
        if self.gpus and (self.gpu_milli > 0) == (self.slice_mib > 0):
            raise ValueError(f"work on GPUs asks for either gpu_milli or slice_mib on each of them: {self}")
        if not self.gpus and (self.gpu_milli or self.slice_mib or self.models):
            raise ValueError(f"work without GPUs asks for no share and no model of them: {self}")
        if self.gpu_milli > WHOLE_GPU_MILLI:
            raise ValueError(f"gpu_milli is per device, {WHOLE_GPU_MILLI} at most: {self}")
        if tuple(sorted(set(self.models))) != self.models:
            raise ValueError(f"models are sorted and named once: {self}")

    def milli_on(self, device_mib: int) -> int:
        """The share of one device of this memory that one part takes; above 1000 it does not fit."""
        return -(-WHOLE_GPU_MILLI * self.slice_mib // device_mib) if self.slice_mib else self.gpu_milli

    def allows(self, model: str) -> bool:
        return not self.models or model in self.models

    def as_json(self) -> dict[str, Any]:
        return {
            "cpu_milli": self.cpu_milli,
            "memory_mib": self.memory_mib,
            "gpus": self.gpus,
            "gpu_milli": self.gpu_milli,
            "slice_mib": self.slice_mib,
            "models": list(self.models),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**{**value, "models": tuple(value["models"])})


@dataclass(frozen=True, slots=True)
class Experience:
    """What was known when placement last learnt: counts, the room left for each bucket, the turnover."""

    counts: tuple[tuple[WorkClass, int], ...]
    room: tuple[int, ...]
    turnover: int = 0


@dataclass(slots=True)
class Mix:
    """Arrivals per class, also of work that found no place; old ones fade."""

    counts: dict[WorkClass, int] = field(default_factory=dict)
    arrivals: int = 0
    departures: int = 0  # counted and fading like arrivals
    learnt: Experience | None = None

    def note(self, work: WorkClass) -> bool:
        """Counts one arrival; true when enough has arrived since the last time to learn again."""
        self.counts[work] = self.counts.get(work, 0) + ONE_ARRIVAL
        self.arrivals += 1
        since = self.arrivals - LEARN_OFTEN_UNTIL
        if since <= 0:
            return self.arrivals & (self.arrivals - 1) == 0
        return since % LEARN_EVERY == 0

    def note_departure(self) -> None:
        """Counts that work ended by itself, or was taken away for good."""
        self.departures += ONE_ARRIVAL

    def turnover(self) -> int:
        """How many leave per thousand that arrive: 0 in a cluster that only fills up."""
        return min(1000, 1000 * self.departures // max(sum(self.counts.values()), 1))

    def fade(self, divisor: int) -> None:
        """Takes one part in `divisor` from every count; what has faded away is forgotten."""
        self.counts = {work: left for work, n in self.counts.items() if (left := n - -(-n // divisor)) > 0}
        self.departures -= -(-self.departures // divisor)

    def gpu_counts(self) -> tuple[tuple[WorkClass, int], ...]:
        """Counts of the work that uses GPUs, in a fixed order."""
        return tuple(sorted((work, n) for work, n in self.counts.items() if work.gpus))

    def as_json(self) -> dict[str, Any]:
        """A form from which the same mix, and so the same placements, can be made again."""
        learnt = self.learnt
        return {
            "arrivals": self.arrivals,
            "departures": self.departures,
            "counts": _counts_as_json(tuple(sorted(self.counts.items()))),
            "learnt": learnt
            and {
                "counts": _counts_as_json(learnt.counts),
                "room": list(learnt.room),
                "turnover": learnt.turnover,
            },
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        learnt = value["learnt"]
        return cls(
            counts=dict(_counts_from_json(value["counts"])),
            arrivals=value["arrivals"],
            departures=value["departures"],
            learnt=learnt
            and Experience(_counts_from_json(learnt["counts"]), tuple(learnt["room"]), learnt["turnover"]),
        )


def _counts_as_json(counts: tuple[tuple[WorkClass, int], ...]) -> list[dict[str, Any]]:
    return [{**work.as_json(), "count": count} for work, count in counts]


def _counts_from_json(rows: list[dict[str, Any]]) -> tuple[tuple[WorkClass, int], ...]:
    return tuple(
        (WorkClass.from_json({name: value for name, value in row.items() if name != "count"}), row["count"])
        for row in rows
    )
