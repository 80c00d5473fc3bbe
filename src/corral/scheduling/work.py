"""Workloads while a cycle runs: which replicas are active, what comes next, what would go first."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from corral.core.resources import NOTHING, Amount
from corral.core.workloads import ReplicaGroup, ReplicaState, TopologyRequest, Workload
from corral.scheduling.mig import Carving
from corral.scheduling.requests import RequestClass
from corral.scheduling.ties import Ties
from corral.scheduling.tree import QueueState


class Phase(IntEnum):
    """How a replica occupies a spot. The first three are found in the snapshot, the last two are decided."""

    RUNNING = 0
    RELEASING = 1
    STUCK = 2
    PLACED = 3
    PROMISED = 4


_PARTS = 20  # bits of what a group has in parts of its minimum
HOLDING = {
    ReplicaState.RUNNING: Phase.RUNNING,
    ReplicaState.RELEASING: Phase.RELEASING,
    ReplicaState.STUCK: Phase.STUCK,
}


class Spot(NamedTuple):
    """A place: the node's number, (device number, MiB, compute %) of each device, and the charge.

    `carvings` say where on the devices its MIG instances are.
    """

    node: int
    devices: tuple[tuple[int, int, int], ...]
    amount: Amount
    carvings: tuple[Carving, ...] = ()


class Rest(NamedTuple):
    """A workload at rest, and the place of its one replica."""

    workload: Workload
    request: RequestClass
    spot: Spot
    preemptible: bool


class Slot:
    """One replica. It may hold a spot from before (`base`) and one this cycle decided (`new`)."""

    __slots__ = ("base", "base_phase", "group", "index", "name", "new", "new_phase", "request", "succeeded")

    def __init__(self, name: str, group: "GroupState", index: int, request: RequestClass) -> None:
        self.name = name
        self.group = group
        self.index = index
        self.request = request
        self.base: Spot | None = None
        self.base_phase = Phase.RUNNING
        self.new: Spot | None = None
        self.new_phase = Phase.PLACED
        self.succeeded = False

    @property
    def active(self) -> bool:
        return self.new is not None or (self.base is not None and self.base_phase is Phase.RUNNING)

    @property
    def pending(self) -> bool:
        """Whether it could be given a spot: it is not active, nor still on its way out from before."""
        if self.new is not None or self.succeeded:
            return False
        return self.base is None or self in self.group.work.evicted_slots

    @property
    def spot(self) -> Spot | None:
        """Where it is active."""
        if self.new is not None:
            return self.new
        return self.base if self.base_phase is Phase.RUNNING else None


class GroupState:
    """A replica group: a leaf with slots, or one with groups below it."""

    __slots__ = ("active", "groups", "minimum", "name", "preemptible", "present", "slots", "work")

    def __init__(self, group: ReplicaGroup, work: "WorkState", preemptible: bool) -> None:
        self.name = group.name
        self.work = work
        self.preemptible = preemptible and group.preemptible
        self.groups = (
            [GroupState(each, work, self.preemptible) for each in group.groups] if group.groups else []
        )
        self.slots: list[Slot] = []
        minimum = group.minimum
        self.minimum = (len(group.groups) or len(group.replicas)) if minimum is None else minimum
        self.active = 0  # slots that hold or get a spot
        self.present = 0  # slots that succeeded: they count for the minimum

    def leaves(self) -> Iterator["GroupState"]:
        if not self.groups:
            yield self
        for group in self.groups:
            yield from group.leaves()

    @property
    def satisfied(self) -> bool:
        if self.groups:
            return sum(group.satisfied for group in self.groups) >= self.minimum
        return self.active + self.present >= self.minimum

    def any_active(self) -> bool:
        return any(leaf.active for leaf in self.leaves())

    def missing(self) -> list[Slot]:
        """The pending slots that would bring this group to its minimum; too few if there are too few."""
        if not self.groups:
            short = self.minimum - self.active - self.present
            return [slot for slot in self.slots if slot.pending][:short] if short > 0 else []
        short = self.minimum - sum(group.satisfied for group in self.groups)
        # Groups that have begun come first, then as declared.
        open_groups = [group for group in self.groups if not group.satisfied]
        open_groups.sort(key=lambda group: not group.any_active())
        return [slot for group in open_groups[: max(0, short)] for slot in group.missing()]

    def extension(self) -> list[Slot]:
        """What comes above the minimum: one replica, or the minimum of one more group."""
        if not self.groups:
            return next(([slot] for slot in self.slots if slot.pending), [])
        for group in in_need(self.groups):
            more = group.extension() if group.satisfied else group.missing()
            if more:
                return more
        return []

    def surplus(self, taken: set[Slot]) -> list[Slot]:
        """The last replica above a minimum, else the last group above it; without those `taken`."""
        if not self.groups:
            held = [slot for slot in self.slots if slot.active and slot not in taken]
            above = len(held) + self.present > self.minimum
            return held[-1:] if above and self.preemptible else []
        begun = [group for group in self.groups if group.holds(taken)]
        if more := surplus_of(begun, taken):
            return more
        if sum(group.complete(taken) for group in begun) > self.minimum:
            for group in reversed(begun):
                if group.all_preemptible():
                    return [slot for leaf in group.leaves() for slot in leaf.slots if _held(slot, taken)]
        return []

    def filled(self, taken: set[Slot]) -> int:
        """How far it is above its minimum: what it has, in parts of the minimum."""
        if self.groups:
            has = sum(group.complete(taken) for group in self.groups)
        else:
            has = sum(_held(slot, taken) for slot in self.slots) + self.present
        return (has << _PARTS) // max(1, self.minimum)

    def holds(self, taken: set[Slot]) -> bool:
        return any(_held(slot, taken) for leaf in self.leaves() for slot in leaf.slots)

    def complete(self, taken: set[Slot]) -> bool:
        if self.groups:
            return sum(group.complete(taken) for group in self.groups) >= self.minimum
        return sum(_held(slot, taken) for slot in self.slots) + self.present >= self.minimum

    def all_preemptible(self) -> bool:
        return all(leaf.preemptible for leaf in self.leaves())


def in_need(groups: list[GroupState]) -> list[GroupState]:
    """Who comes next above the minimum: those below their own, then the least filled, then as declared."""
    if len(groups) == 1:
        return groups
    return sorted(groups, key=lambda group: group.filled(set()) if group.satisfied else -1)


def surplus_of(groups: list[GroupState], taken: set[Slot]) -> list[Slot]:
    """What goes first of several groups: of the fullest, and the last of these."""
    ordered = groups if len(groups) == 1 else sorted(groups, key=lambda group: group.filled(taken))
    return next((more for group in reversed(ordered) if (more := group.surplus(taken))), [])


class Bond:
    """Groups whose members belong together in a domain of a topology, and the bonds among them."""

    __slots__ = ("below", "leaves", "topology")

    def __init__(
        self,
        topology: TopologyRequest | None,
        groups: tuple[ReplicaGroup, ...],
        states: list[GroupState],
        leaf: GroupState | None = None,
    ) -> None:
        self.topology = topology
        self.below = [
            Bond(group.topology, group.groups, state.groups, None if state.groups else state)
            for group, state in zip(groups, states, strict=True)
        ]
        self.leaves: list[GroupState] = (
            [leaf] if leaf is not None else [each for bond in self.below for each in bond.leaves]
        )

    def nodes(self) -> list[int]:
        """Where its members are active."""
        return [slot.spot.node for leaf in self.leaves for slot in leaf.slots if slot.spot is not None]

    def required(self) -> TopologyRequest | None:
        """The outermost request with a required level."""
        if self.topology is not None and self.topology.required is not None:
            return self.topology
        return next((found for bond in self.below if (found := bond.required()) is not None), None)


class WorkState:
    """A workload in its pool. `stamp` counts changes of its slots."""

    __slots__ = (
        "_chunk",
        "_chunk_stamp",
        "bond",
        "created",
        "delay_until",
        "evicted_slots",
        "groups",
        "leaves",
        "name",
        "preemptible",
        "priority",
        "queue",
        "running_since",
        "slots",
        "stamp",
        "stuck",
        "ties",
        "workload",
    )

    def __init__(self, workload: Workload, queue: QueueState) -> None:
        self.workload = workload
        self.name = workload.name
        self.queue = queue
        self.priority = workload.priority
        self.created = workload.created
        self.running_since = workload.running_since
        self.delay_until = workload.created + workload.preemption_delay_seconds
        self.groups = [GroupState(group, self, True) for group in workload.groups]
        self.leaves: list[GroupState] = []
        for group in self.groups:
            self.leaves += group.leaves() if group.groups else (group,)
        self.bond: Bond | None = None
        if workload.topology is not None or _ask_for_domain(workload.groups):
            self.bond = Bond(workload.topology, workload.groups, self.groups)
        self.slots: list[Slot] = []
        self.preemptible = all(leaf.preemptible for leaf in self.leaves)
        self.evicted_slots: set[Slot] = set()
        self.stuck = False
        self.ties: Ties | None = None  # to workloads that it wants to be near or apart from, and they to it
        self.stamp = 0
        self._chunk: Chunk | None = None
        self._chunk_stamp = -1

    @property
    def satisfied(self) -> bool:
        return all(group.satisfied for group in self.groups)

    @property
    def may_give(self) -> bool:
        """Whether it has anything that could be taken."""
        return any(leaf.active and leaf.preemptible for leaf in self.leaves)

    def level(self) -> int:
        """0 below the minimum, 1 at it, 2 above it."""
        if not self.satisfied:
            return 0
        for leaf in self.leaves:
            if leaf.active + leaf.present > leaf.minimum:
                return 2
        return 1

    def chunk(self) -> "Chunk | None":
        """What allocate would place next: the missing part of the minimum, else one replica."""
        if self._chunk_stamp != self.stamp:
            self._chunk, self._chunk_stamp = self._next_chunk(), self.stamp
        return self._chunk

    def _next_chunk(self) -> "Chunk | None":
        if len(self.slots) == 1:
            # Whatever its minimum, the one replica there is comes next.
            return Chunk(self, self.slots[:]) if self.slots[0].pending else None
        if not self.satisfied:
            slots = [slot for group in self.groups for slot in group.missing()]
            if not slots or not self._completes(slots):
                return None
            return Chunk(self, slots)
        for group in in_need(self.groups):
            if slots := group.extension():
                return Chunk(self, slots)
        return None

    def _completes(self, slots: list[Slot]) -> bool:
        """Whether `slots` bring the gang to its minimum: some may still be on their way out."""
        chosen = set(slots)

        def reached(group: GroupState) -> bool:
            if group.groups:
                return sum(reached(each) for each in group.groups) >= group.minimum
            added = sum(slot in chosen for slot in group.slots)
            return group.active + group.present + added >= group.minimum

        return all(reached(group) for group in self.groups)

    def held(self, taken: set[Slot]) -> Amount:
        """What it is charged for, without the slots `taken`."""
        return total_of(
            [slot.spot.amount for slot in self.slots if slot.spot is not None and slot not in taken]
        )

    def has_surplus(self) -> bool:
        """Whether it holds anything above its minimum that could be taken."""
        chunk = self.victim_chunk(set())
        return chunk is not None and len(chunk.slots) < sum(leaf.active for leaf in self.leaves)

    def victim_chunk(self, taken: set[Slot]) -> "Chunk | None":
        """The last replica above the minimum, else the whole gang if all of it is preemptible.

        Of a workload whose members restart together, always the whole: what is taken begins again.
        """
        if len(self.slots) == 1 and len(self.leaves) == 1:
            (slot,) = self.slots
            return Chunk(self, [slot]) if self.preemptible and _held(slot, taken) else None
        if not self.workload.restart_together and (above := surplus_of(self.groups, taken)):
            return Chunk(self, above)
        if not self.preemptible:
            return None
        slots = [slot for slot in self.slots if _held(slot, taken)]
        return Chunk(self, slots) if slots else None


class Chunk:
    """Replicas of one workload that are placed or taken together."""

    __slots__ = ("amount", "pinned", "slots", "work")

    def __init__(self, work: WorkState, slots: list[Slot]) -> None:
        self.work = work
        self.slots = slots
        if len(slots) == 1:
            slot = slots[0]
            self.amount = (slot.spot or slot.request).amount
            self.pinned = NOTHING if slot.group.preemptible else self.amount
            return
        amounts = [(slot.spot or slot.request).amount for slot in slots]
        kept = [each for slot, each in zip(slots, amounts, strict=True) if not slot.group.preemptible]
        self.amount = total_of(amounts)
        self.pinned = total_of(kept)


def total_of(amounts: list[Amount]) -> Amount:
    """Their sum; that of a single one is itself."""
    if len(amounts) < 2:
        return amounts[0] if amounts else NOTHING
    return Amount(*map(sum, zip(*amounts, strict=True)))


def _ask_for_domain(groups: Sequence[ReplicaGroup]) -> bool:
    for group in groups:
        if group.topology is not None or (group.groups and _ask_for_domain(group.groups)):
            return True
    return False


def _held(slot: Slot, taken: set[Slot]) -> bool:
    return slot.active and slot not in taken
