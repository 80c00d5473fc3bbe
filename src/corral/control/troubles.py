"""What fails for one workload rests for a while, longer and longer, and holds up nobody else.

Pure: times come in as numbers, nothing waits here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from corral.core.steps import Step

FIRST_REST_SECONDS = 1.0
LONGEST_REST_SECONDS = 60.0

Key = tuple[str, Step]
"""A workload and what cannot be done with it."""


@dataclass(frozen=True, slots=True)
class Rest:
    """How long something is left alone after its first failure, and at most."""

    first_seconds: float = FIRST_REST_SECONDS
    longest_seconds: float = LONGEST_REST_SECONDS


USUAL = Rest()


@dataclass(slots=True)
class _Trouble:
    detail: str
    failures: int
    due: float


@dataclass(slots=True)
class Troubles:
    _troubles: dict[Key, _Trouble] = field(default_factory=dict)

    def failed(self, workload_id: str, step: Step, detail: str, now: float, rest: Rest = USUAL) -> None:
        before = self._troubles.get((workload_id, step))
        failures = 1 if before is None else before.failures + 1
        # The exponent is bounded so that a week of failures does not overflow.
        seconds = min(rest.longest_seconds, rest.first_seconds * 2.0 ** min(failures - 1, 30))
        self._troubles[workload_id, step] = _Trouble(detail, failures, now + seconds)

    def over(self, workload_id: str, step: Step) -> None:
        self._troubles.pop((workload_id, step), None)

    def rests(self, workload_id: str, step: Step, now: float) -> bool:
        """Whether it is too early to try again."""
        trouble = self._troubles.get((workload_id, step))
        return trouble is not None and trouble.due > now

    def resting(self, now: float) -> Mapping[Key, str]:
        return {key: trouble.detail for key, trouble in self._troubles.items() if trouble.due > now}

    def due(self, step: Step, now: float) -> bool:
        """Whether there is one to try again."""
        return any(each is step and trouble.due <= now for (_, each), trouble in self._troubles.items())

    def details(self) -> Mapping[Key, str]:
        return {key: trouble.detail for key, trouble in self._troubles.items()}
