"""The board: nodes, devices and queues while a cycle runs, changed only through four moves, all undoable.

Every move is an entry in a log; `undo(mark)` plays it backwards. Capacity is counted three ways: what is
used now (also by what is leaving), which part of that is leaving, and what is promised on top.
"""

from collections.abc import Callable, Sequence

from corral.core.devices import Device, DeviceKind
from corral.core.nodes import Node
from corral.core.resources import Amount
from corral.scheduling.state.device_links import links_of
from corral.scheduling.state.node_state import NodeState, Shield
from corral.scheduling.state.queue_tree import QueueState
from corral.scheduling.state.slots import Phase, SettledReplica, Slot, Spot
from corral.scheduling.state.workload_state import WorkState, total_of


class Board:
    """What the cycle has decided so far."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = [NodeState(node, index) for index, node in enumerate(nodes)]
        self.shapes = _number_shapes(self.nodes)
        self.tainted = _tainted(self.nodes)
        # By number the nodes that changed since placement last looked, and which of their devices did.
        self.dirty: dict[int, set[int]] = {}
        self._promised: dict[int, dict[Slot, None]] = {}  # by node, in the order of the promises
        self._log: list[tuple[Callable[[Slot, Spot, Phase], None], Slot, Spot, Phase]] = []

    def kinds(self) -> dict[DeviceKind, Device]:
        """One device of each kind that is there."""
        alike = {node.shape: node.node.devices for node in self.nodes}
        return {device.kind: device for devices in alike.values() for device in devices}

    @property
    def mark(self) -> int:
        return len(self._log)

    def undo(self, mark: int) -> None:
        """Takes back every move since `mark`."""
        log = self._log
        while len(log) > mark:
            move, slot, spot, phase = log.pop()
            move(slot, spot, phase)

    def change(self, number: int, node: Node) -> None:
        """The same devices under other labels, taints, links or sizes; between cycles."""
        state = self.nodes[number]
        state.node = node
        state.links = links_of(node)
        state.size = (node.cpu_milli, node.memory_mib, node.pods)
        self._changed(number)
        self.tainted = _tainted(self.nodes)

    def renumber(self, nodes: list[NodeState]) -> None:
        """Goes on with these nodes, numbered in their order; between cycles."""
        self.nodes = nodes
        for number, node in enumerate(nodes):
            node.index = number
        self.dirty.clear()
        self._promised.clear()
        self.shapes = _number_shapes(nodes)
        self.tainted = _tainted(nodes)

    def adopt(self, slot: Slot, spot: Spot, phase: Phase) -> None:
        """Puts down what the snapshot says; not a move."""
        slot.base, slot.base_phase = spot, phase
        self._occupy(spot, phase, 1)
        self._count_affinity(slot, spot, phase, 1)
        if phase is Phase.RUNNING:
            self._activate(slot, spot.amount, 1)

    def settle(self, queue: QueueState, rests: Sequence[SettledReplica]) -> None:
        """Puts down the settled work of a leaf queue, before anybody looked at the board.

        As `adopt` does, without slots, and charged in sum.
        """
        nodes = self.nodes
        for rest in rests:
            number, devices, (_, cpu, memory), _ = rest.spot
            node = nodes[number]
            used, states = node.used, node.devices
            used[0] += cpu
            used[1] += memory
            used[2] += 1
            for index, mib, compute in devices:
                device = states[index]
                device.mib += mib
                device.compute += compute
        for preemptible in (True, False):
            amounts = [rest.spot.amount for rest in rests if rest.preemptible is preemptible]
            queue.charge(total_of(amounts), preemptible=preemptible, sign=1)

    @staticmethod
    def recognise(slot: Slot, spot: Spot) -> None:
        """Settled work gets a slot."""
        slot.base, slot.base_phase = spot, Phase.RUNNING
        slot.group.active += 1
        slot.group.work.stamp += 1

    def release(self, slot: Slot) -> None:
        """Takes up what `adopt` put down."""
        spot = slot.base
        assert spot is not None
        self._occupy(spot, slot.base_phase, -1)
        self._count_affinity(slot, spot, slot.base_phase, -1)
        if slot.base_phase is Phase.RUNNING:
            self._activate(slot, spot.amount, -1)
        slot.base = None

    def moved(self) -> set[WorkState]:
        """The workloads of which some replica is not where the cycle found it, or was moved to and fro."""
        return {slot.group.work for _, slot, _, _ in self._log}

    def give(self, slot: Slot, spot: Spot, phase: Phase) -> None:
        """A pending replica gets a spot, now (`PLACED`) or later (`PROMISED`)."""
        self._log.append((self._take_back, slot, spot, phase))
        self._give(slot, spot, phase)

    def take(self, slot: Slot) -> None:
        """An active replica loses its spot: what this cycle gave never happened, what runs is leaving."""
        if slot.new is not None:
            self._log.append((self._give, slot, slot.new, slot.new_phase))
            self._take_back(slot, slot.new, slot.new_phase)
            return
        spot = slot.base
        assert spot is not None
        self._log.append((self._stay, slot, spot, Phase.RUNNING))
        self._leave(slot, spot, Phase.RUNNING)

    def keep(self, slot: Slot) -> None:
        """A replica that this cycle evicted stays where it is after all."""
        spot = slot.base
        assert spot is not None
        self._log.append((self._leave, slot, spot, Phase.RUNNING))
        self._stay(slot, spot, Phase.RUNNING)

    def can_keep(self, slot: Slot) -> bool:
        """Whether nothing was promised over the spot that it is leaving."""
        spot = slot.base
        assert spot is not None
        node = self.nodes[spot.node]
        need = (spot.amount.cpu_milli, spot.amount.memory_mib, 1)
        for kind in range(3):
            if node.used[kind] - node.leaving[kind] + node.promised[kind] + need[kind] > node.size[kind]:
                return False
        for mig_allocation in spot.mig_allocations:
            if mig_allocation.bits & ~node.devices[mig_allocation.device].free_slices(later=True):
                return False
        return all(node.devices[index].fits_later(mib, compute) for index, mib, compute in spot.devices)

    def swap_promised_devices(self, slot: Slot, devices: Sequence[int]) -> bool:
        """Lets those who were promised the devices that `slot` is leaving have `devices` of its node instead.

        Devices of a node are alike, and these are free as a whole, so who was promised the one takes as well
        the other, or a part of it. False, and nothing done, where that does not let it stay.
        """
        spot, mark = slot.base, self.mark
        assert spot is not None
        node = self.nodes[spot.node]
        if len(set(node.kinds)) > 1:
            return False
        own = {index for index, _, _ in spot.devices}
        blocked = [
            index for index, mib, compute in spot.devices if not node.devices[index].fits_later(mib, compute)
        ]
        instead = dict(zip(blocked, (index for index in devices if index not in own), strict=False))
        for holder in list(self._promised.get(spot.node, ())):
            promised = holder.new
            assert promised is not None
            if not promised.mig_allocations and any(index in instead for index, _, _ in promised.devices):
                changed = tuple(
                    (instead.get(index, index), mib, compute) for index, mib, compute in promised.devices
                )
                self.take(holder)
                self.give(holder, promised._replace(devices=changed), Phase.PROMISED)
        if self.can_keep(slot):
            return True
        self.undo(mark)
        return False

    def shield(self, shield: Shield, sign: int) -> None:
        """Counts what is kept as used, or with -1 no longer; not a move, so it is taken off again by hand."""
        node = self.nodes[shield.node]
        changed = self._changed(shield.node)
        changed.update(index for index, _ in shield.slices)
        cpu, memory, pods = shield.totals
        _add(node.used, (cpu * sign, memory * sign, pods * sign))
        for index, mib, compute in shield.devices:
            changed.add(index)
            device = node.devices[index]
            device.mib += mib * sign
            device.compute += compute * sign
        for index, bits in shield.slices:
            node.devices[index].promised_slices ^= bits

    def _give(self, slot: Slot, spot: Spot, phase: Phase) -> None:
        slot.new, slot.new_phase = spot, phase
        if phase is Phase.PROMISED:
            self._promised.setdefault(spot.node, {})[slot] = None
        self._occupy(spot, phase, 1)
        self._count_affinity(slot, spot, phase, 1)
        self._activate(slot, spot.amount, 1)

    def _take_back(self, slot: Slot, spot: Spot, phase: Phase) -> None:
        slot.new = None
        if phase is Phase.PROMISED:
            del self._promised[spot.node][slot]
        self._occupy(spot, phase, -1)
        self._count_affinity(slot, spot, phase, -1)
        self._activate(slot, spot.amount, -1)

    def _leave(self, slot: Slot, spot: Spot, _: Phase) -> None:
        slot.base_phase = Phase.RELEASING
        slot.group.work.evicted_slots.add(slot)
        self._turn(spot, 1)
        self._count_affinity(slot, spot, Phase.RUNNING, -1)
        self._count_affinity(slot, spot, Phase.RELEASING, 1)
        self._activate(slot, spot.amount, -1)

    def _stay(self, slot: Slot, spot: Spot, _: Phase) -> None:
        slot.base_phase = Phase.RUNNING
        slot.group.work.evicted_slots.discard(slot)
        self._turn(spot, -1)
        self._count_affinity(slot, spot, Phase.RELEASING, -1)
        self._count_affinity(slot, spot, Phase.RUNNING, 1)
        self._activate(slot, spot.amount, 1)

    @staticmethod
    def _count_affinity(slot: Slot, spot: Spot, phase: Phase, sign: int) -> None:
        affinity_counts = slot.group.work.affinity_counts
        if affinity_counts is not None:
            leaves = phase is Phase.RELEASING
            affinity_counts.move(slot.request, spot.node, 0 if leaves else sign, sign if leaves else 0)

    @staticmethod
    def _activate(slot: Slot, amount: Amount, sign: int) -> None:
        group = slot.group
        work: WorkState = group.work
        group.active += sign
        work.stamp += 1
        work.queue.charge(amount, preemptible=group.preemptible, sign=sign)

    def _changed(self, number: int) -> set[int]:
        """Notes that a node changed; those of its devices that do are added to what this returns."""
        changed = self.dirty.get(number)
        if changed is None:
            changed = self.dirty[number] = set()
        return changed

    def _occupy(self, spot: Spot, phase: Phase, sign: int) -> None:
        node = self.nodes[spot.node]
        changed = self._changed(spot.node)
        amounts = (spot.amount.cpu_milli * sign, spot.amount.memory_mib * sign, sign)
        if phase is Phase.PROMISED:
            _add(node.promised, amounts)
            for index, mib, compute in spot.devices:
                changed.add(index)
                device = node.devices[index]
                device.promised_mib += mib * sign
                device.promised_compute += compute * sign
            # What is taken never overlaps, so doing and undoing both turn the bits over.
            for mig_allocation in spot.mig_allocations:
                node.devices[mig_allocation.device].promised_slices ^= mig_allocation.bits
            return
        _add(node.used, amounts)
        for index, mib, compute in spot.devices:
            changed.add(index)
            device = node.devices[index]
            device.mib += mib * sign
            device.compute += compute * sign
        for mig_allocation in spot.mig_allocations:
            node.devices[mig_allocation.device].slices ^= mig_allocation.bits
        if phase is Phase.RELEASING:
            self._turn(spot, sign)

    def _turn(self, spot: Spot, sign: int) -> None:
        """What is at `spot` begins (or with -1 ceases) to leave."""
        node = self.nodes[spot.node]
        changed = self._changed(spot.node)
        _add(node.leaving, (spot.amount.cpu_milli * sign, spot.amount.memory_mib * sign, sign))
        for index, mib, compute in spot.devices:
            changed.add(index)
            device = node.devices[index]
            device.leaving_mib += mib * sign
            device.leaving_compute += compute * sign
        for mig_allocation in spot.mig_allocations:
            node.devices[mig_allocation.device].leaving_slices ^= mig_allocation.bits


def _add(totals: list[int], amounts: tuple[int, int, int]) -> None:
    totals[0] += amounts[0]
    totals[1] += amounts[1]
    totals[2] += amounts[2]


def _number_shapes(nodes: list[NodeState]) -> list[tuple[DeviceKind, ...]]:
    """Numbers the shapes of all nodes; returns the kinds of each."""
    numbers: dict[tuple[DeviceKind, ...], int] = {}
    for node in nodes:
        node.shape = numbers.setdefault(node.kinds, len(numbers))
    return list(numbers)


def _tainted(nodes: list[NodeState]) -> bool:
    return any(node.node.taints for node in nodes)
