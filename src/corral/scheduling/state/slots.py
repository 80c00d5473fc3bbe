"""Slots: the replicas of workloads while a cycle runs, and the spots that they hold or get."""

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from corral.core.resources import Amount
from corral.core.workloads import ReplicaState, Workload
from corral.scheduling.state.mig_grid import MigAllocation
from corral.scheduling.state.request_classes import RequestClass

if TYPE_CHECKING:
    from corral.scheduling.state.replica_groups import GroupState


class Phase(IntEnum):
    """How a replica occupies a spot. The first three are found in the snapshot, the last two are decided."""

    RUNNING = 0
    RELEASING = 1
    STUCK = 2
    PLACED = 3
    PROMISED = 4


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
    mig_allocations: tuple[MigAllocation, ...] = ()


class SettledReplica(NamedTuple):
    """A settled workload, and the spot of its one replica."""

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
