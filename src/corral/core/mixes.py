"""The mix: how often each class of work arrived in a pool. Placement leaves room for what usually arrives."""

from dataclasses import dataclass

from corral.core.resources import WHOLE_DEVICE_MILLI

ONE_ARRIVAL = 1000


@dataclass(frozen=True, slots=True, order=True)
class WorkClass:
    """One replica's request, as placement sees it: equal requests are the same class of work.

    Of each of `gpus` devices it takes `gpu_milli` or `slice_mib`, with both the larger, or an instance of a
    MIG `profile`. No `models`: any.
    """

    cpu_milli: int = 0
    memory_mib: int = 0
    gpus: int = 0
    gpu_milli: int = 0
    slice_mib: int = 0
    models: tuple[str, ...] = ()
    profile: str = ""

    def __post_init__(self) -> None:
        if min(self.cpu_milli, self.memory_mib, self.gpus, self.gpu_milli, self.slice_mib) < 0:
            raise ValueError(f"a class of work has no negative quantities: {self}")
        if self.gpus and not self.gpu_milli and not self.slice_mib and not self.profile:
            raise ValueError(f"work on GPUs asks for gpu_milli, slice_mib or a profile on each: {self}")
        if self.profile and (self.gpu_milli or self.slice_mib):
            raise ValueError(f"the device defines what a profile takes: {self}")
        if not self.gpus and (self.gpu_milli or self.slice_mib or self.models or self.profile):
            raise ValueError(f"work without GPUs asks for no share and no model of them: {self}")
        if self.gpu_milli > WHOLE_DEVICE_MILLI:
            raise ValueError(f"gpu_milli is per device, {WHOLE_DEVICE_MILLI} at most: {self}")
        if tuple(sorted(set(self.models))) != self.models:
            raise ValueError(f"models are sorted and named once: {self}")

    @property
    def is_whole(self) -> bool:
        return self.gpu_milli == WHOLE_DEVICE_MILLI and not self.slice_mib

    def milli_on(self, device_mib: int) -> int:
        """The share of one device of this memory that one part takes; above 1000 it does not fit."""
        if not self.slice_mib:
            return self.gpu_milli
        return max(self.gpu_milli, -(-WHOLE_DEVICE_MILLI * self.slice_mib // device_mib))

    def allows(self, model: str) -> bool:
        return not self.models or model in self.models


@dataclass(frozen=True, slots=True, order=True)
class ClassCount:
    """How often a class arrived, in thousandths: old arrivals fade."""

    work: WorkClass
    count: int


@dataclass(frozen=True, slots=True)
class Experience:
    """What was known when placement last learnt.

    `room` is what was left then for each group of classes, in the order that `counts` and `kinds` of devices
    give; `turnover` says how many left per thousand that arrived.
    """

    counts: tuple[ClassCount, ...]
    kinds: tuple[str, ...]
    room: tuple[int, ...]
    turnover: int = 0


@dataclass(frozen=True, slots=True)
class Mix:
    """Arrivals and departures of a pool. Without `learnt`, a cycle learns from what is free at its start."""

    counts: tuple[ClassCount, ...] = ()
    arrivals: int = 0
    departures: int = 0
    learnt: Experience | None = None
