"""What this engine knows: attempts that are here, those that are gone, and the runs of both."""

import secrets
from collections.abc import Iterator, Mapping, Sequence

from corral.core.refusals import NotFound
from corral.core.steps import Step
from corral.engines.interface import RunPhase, Start, Trouble
from corral.engines.local.attempts.attempt import TrackedAttempt
from corral.engines.local.attempts.observation_log import ObservationLog
from corral.engines.local.machine.hardware import Hardware
from corral.engines.local.machine.host import allocated_mib_of
from corral.engines.local.records.spec import Spec


class RunRegistry:
    """`here` by the name of the attempt. The names of what is gone are never used again."""

    def __init__(self) -> None:
        self.log = ObservationLog(secrets.token_hex(8))
        self.here: dict[str, TrackedAttempt] = {}
        self._gone: set[str] = set()
        self._places: dict[str, tuple[str, int]] = {}  # attempt and index of every run with output
        self._owners: dict[str, str] = {}

    def add(self, attempt: TrackedAttempt) -> None:
        self.here[attempt.spec.attempt] = attempt
        self._remember(attempt.spec)

    def add_gone(self, specs: Sequence[Spec], tombstones: set[str]) -> None:
        for spec in specs:
            self._gone.add(spec.attempt)
            self._remember(spec)
        self._gone |= tombstones

    def is_new(self, name: str) -> bool:
        return name not in self.here and name not in self._gone

    def check_whole(self, name: str, starts: Sequence[Start]) -> None:
        attempt = self.here.get(name)
        if attempt is not None:
            started = {replica.run for replica in attempt.spec.replicas}
            if not started.issuperset(start.run for start in starts):
                raise ValueError(f"all replicas of {name} are started by one call; some were started before")

    def leave(self, name: str) -> None:
        """Its endings are all recorded; its output stays."""
        del self.here[name]
        self._gone.add(name)

    def discard(self, names: set[str]) -> None:
        self._places = {run: place for run, place in self._places.items() if place[0] not in names}
        for name in names:
            self._owners.pop(name, None)

    def place(self, run: str) -> tuple[str, int]:
        """The attempt and index of a run whose output is kept."""
        if run not in self._places:
            raise NotFound(f"There is no run {run} here.", "See what is running: corral ps")
        return self._places[run]

    def owner(self, run: str) -> str:
        return self._owners[self.place(run)[0]]

    def recorded_runs(self) -> Iterator[str]:
        """Runs that were not forgotten."""
        return (run for run in self._places if run in self.log)

    def live(self, run: str) -> tuple[TrackedAttempt, int] | None:
        """A run that has not ended, as far as is attempt."""
        recorded = self.log.get(run)
        if recorded is None or recorded.phase is RunPhase.ENDED:
            return None
        name, index = self._places[run]
        return self.here[name], index

    def allocated_mib(self, hardware: Hardware) -> dict[str, int]:
        """By device, of what has not ended."""
        return allocated_mib_of(
            [attempt.spec for attempt in self.here.values() if not attempt.ended], hardware
        )

    def workloads(self) -> set[str]:
        return {attempt.spec.workload for attempt in self.here.values()}

    def troubles(self) -> tuple[Trouble, ...]:
        return tuple(
            Trouble(step, detail, attempt.spec.workload)
            for attempt in self.here.values()
            for step, detail in attempt.troubles.items()
        )

    def note(self, step: Step, went: Mapping[str, str | None]) -> None:
        """How it went with attempts: why it could not be done, or None."""
        for name, problem in went.items():
            attempt = self.here.get(name)
            if attempt is not None and problem is not None:
                attempt.troubles[step] = problem
            elif attempt is not None:
                attempt.troubles.pop(step, None)

    def _remember(self, spec: Spec) -> None:
        self._places |= {replica.run: (spec.attempt, index) for index, replica in enumerate(spec.replicas)}
        self._owners[spec.attempt] = spec.owner
