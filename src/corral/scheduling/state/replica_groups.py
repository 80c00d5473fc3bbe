"""Groups: the replica groups of workloads, with their minimums, and those that belong in one domain."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from corral.core.workloads import ReplicaGroup, TopologyRequest
from corral.scheduling.state.slots import Slot

if TYPE_CHECKING:
    from corral.scheduling.state.workload_state import WorkState

_PARTS = 20  # bits of what a group has in parts of its minimum


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

    def surplus(self, released: set[Slot]) -> list[Slot]:
        """The last replica above a minimum, else the last group above it; without those `released`."""
        if not self.groups:
            active = [slot for slot in self.slots if slot.active and slot not in released]
            above = len(active) + self.present > self.minimum
            return active[-1:] if above and self.preemptible else []
        begun = [group for group in self.groups if group.holds(released)]
        if more := surplus_of(begun, released):
            return more
        if sum(group.complete(released) for group in begun) > self.minimum:
            for group in reversed(begun):
                if group.all_preemptible():
                    return [slot for leaf in group.leaves() for slot in leaf.slots if stays(slot, released)]
        return []

    def filled(self, released: set[Slot]) -> int:
        """How far it is above its minimum: what it has, in parts of the minimum."""
        if self.groups:
            has = sum(group.complete(released) for group in self.groups)
        else:
            has = sum(stays(slot, released) for slot in self.slots) + self.present
        return (has << _PARTS) // max(1, self.minimum)

    def holds(self, released: set[Slot]) -> bool:
        return any(stays(slot, released) for leaf in self.leaves() for slot in leaf.slots)

    def complete(self, released: set[Slot]) -> bool:
        if self.groups:
            return sum(group.complete(released) for group in self.groups) >= self.minimum
        return sum(stays(slot, released) for slot in self.slots) + self.present >= self.minimum

    def all_preemptible(self) -> bool:
        return all(leaf.preemptible for leaf in self.leaves())


def in_need(groups: list[GroupState]) -> list[GroupState]:
    """Who comes next above the minimum: those below their own, then the least filled, then as declared."""
    if len(groups) == 1:
        return groups
    return sorted(groups, key=lambda group: group.filled(set()) if group.satisfied else -1)


def surplus_of(groups: list[GroupState], released: set[Slot]) -> list[Slot]:
    """What goes first of several groups: of the fullest, and the last of these."""
    ordered = groups if len(groups) == 1 else sorted(groups, key=lambda group: group.filled(released))
    return next((more for group in reversed(ordered) if (more := group.surplus(released))), [])


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


def stays(slot: Slot, released: set[Slot]) -> bool:
    return slot.active and slot not in released
