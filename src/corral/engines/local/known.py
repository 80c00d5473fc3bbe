"""What this engine knows: attempts that are here, those that are gone, and the runs of both."""

import secrets
from collections.abc import Iterator, Mapping, Sequence

from corral.core.refusals import NotFound
from corral.core.steps import Step
from corral.engines.interface import RunPhase, Start, Trouble
from corral.engines.local.attempts import KnownAttempt
from corral.engines.local.hardware import Hardware
from corral.engines.local.spec import Spec
from corral.engines.local.starting import held_by
from corral.engines.local.told import Told


class KnownRuns:
    """`here` by the name of the attempt. The names of what is gone are never used again."""

    def __init__(self) -> None:
        self.told = Told(secrets.token_hex(8))
        self.here: dict[str, KnownAttempt] = {}
        self._gone: set[str] = set()
        self._places: dict[str, tuple[str, int]] = {}  # attempt and index of every run with output
        self._owners: dict[str, str] = {}

    def add(self, known: KnownAttempt) -> None:
        self.here[known.spec.attempt] = known
        self._remember(known.spec)

    def add_gone(self, specs: Sequence[Spec], tombstones: set[str]) -> None:
        for spec in specs:
            self._gone.add(spec.attempt)
            self._remember(spec)
        self._gone |= tombstones

    def is_new(self, name: str) -> bool:
        return name not in self.here and name not in self._gone

    def check_whole(self, name: str, starts: Sequence[Start]) -> None:
        known = self.here.get(name)
        if known is not None:
            started = {replica.run for replica in known.spec.replicas}
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

    def told_of(self) -> Iterator[str]:
        """Runs that were not forgotten."""
        return (run for run in self._places if run in self.told)

    def live(self, run: str) -> tuple[KnownAttempt, int] | None:
        """A run that has not ended, as far as is known."""
        told = self.told.get(run)
        if told is None or told.phase is RunPhase.ENDED:
            return None
        name, index = self._places[run]
        return self.here[name], index

    def held_mib(self, hardware: Hardware) -> dict[str, int]:
        """By device, of what has not ended."""
        return held_by([known.spec for known in self.here.values() if not known.ended], hardware)

    def workloads(self) -> set[str]:
        return {known.spec.workload for known in self.here.values()}

    def troubles(self) -> tuple[Trouble, ...]:
        return tuple(
            Trouble(step, detail, known.spec.workload)
            for known in self.here.values()
            for step, detail in known.troubles.items()
        )

    def note(self, step: Step, went: Mapping[str, str | None]) -> None:
        """How it went with attempts: why it could not be done, or None."""
        for name, problem in went.items():
            known = self.here.get(name)
            if known is not None and problem is not None:
                known.troubles[step] = problem
            elif known is not None:
                known.troubles.pop(step, None)

    def _remember(self, spec: Spec) -> None:
        self._places |= {replica.run: (spec.attempt, index) for index, replica in enumerate(spec.replicas)}
        self._owners[spec.attempt] = spec.owner
