"""Workloads while a cycle runs: which replicas are active, what comes next, what would go first."""

from collections.abc import Sequence

from corral.core.resources import NOTHING, Amount
from corral.core.workloads import ReplicaGroup, Workload
from corral.scheduling.state.affinity_counts import AffinityCounts
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.replica_groups import Bond, GroupState, in_need, stays, surplus_of
from corral.scheduling.state.slots import Slot


class WorkState:
    """A workload in its pool. `stamp` counts changes of its slots."""

    __slots__ = (
        "_chunk",
        "_chunk_stamp",
        "affinity_counts",
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
        self.affinity_counts: AffinityCounts | None = (
            None  # to workloads that it wants to be near or apart from, and they to it
        )
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

    def charge_without(self, released: set[Slot]) -> Amount:
        """What it is charged for, without the slots `released`."""
        return total_of(
            [slot.spot.amount for slot in self.slots if slot.spot is not None and slot not in released]
        )

    def has_surplus(self) -> bool:
        """Whether it holds anything above its minimum that could be taken."""
        chunk = self.victim_chunk(set())
        return chunk is not None and len(chunk.slots) < sum(leaf.active for leaf in self.leaves)

    def victim_chunk(self, released: set[Slot]) -> "Chunk | None":
        """The last replica above the minimum, else the whole gang if all of it is preemptible.

        Of a workload whose members restart together, always the whole: what is taken begins again.
        """
        if len(self.slots) == 1 and len(self.leaves) == 1:
            (slot,) = self.slots
            return Chunk(self, [slot]) if self.preemptible and stays(slot, released) else None
        if not self.workload.restart_together and (above := surplus_of(self.groups, released)):
            return Chunk(self, above)
        if not self.preemptible:
            return None
        slots = [slot for slot in self.slots if stays(slot, released)]
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
