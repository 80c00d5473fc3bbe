"""The placer: the best node for a replica, its devices there, and whole chunks all or nothing."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from corral.core.mixes import Mix
from corral.core.nodes import Arrangement, Pool
from corral.core.plans import Reason, ReasonKind
from corral.core.workloads import DeviceRequest
from corral.scheduling.placing.affinity_view import affinity_view
from corral.scheduling.placing.device_demand import DeviceDemand
from corral.scheduling.placing.fragmentation import Fragmentation, can_learn
from corral.scheduling.placing.free_capacity import FreeCapacity, Integers
from corral.scheduling.placing.mig_placement import place_mig
from corral.scheduling.placing.node_scores import NodeScores, When
from corral.scheduling.placing.replica_capacity import ReplicaCapacity
from corral.scheduling.placing.topology_domains import DomainPlacer, Levels, Mask
from corral.scheduling.state.board import Board
from corral.scheduling.state.request_classes import RequestClass
from corral.scheduling.state.slots import Phase, Slot, Spot
from corral.scheduling.state.workload_state import Chunk

_MOST_CONDITIONS = 1 << 16  # of devices, before those that no longer occur are forgotten


class Placer:
    """Finds places on a board."""

    def __init__(self, board: Board, pool: Pool, mix: Mix | None = None) -> None:
        self._board = board
        self._pool = pool
        self._spread = pool.arrangement is Arrangement.SPREADING
        self._mix = mix or Mix()
        self._free_capacity: FreeCapacity | None = None
        self._fragmentation: Fragmentation | None = None
        self._mix_evaluated = False
        self._renumbered = False
        self.may_swap_promised_devices = (
            True  # whether who was promised devices may get others of the same node
        )
        self.forget_node_facts()

    def forget_node_facts(self) -> None:
        """Forgets what hangs on the labels, taints and sizes of nodes; what is left of each is kept."""
        self._scores: dict[tuple[int, When], NodeScores] = {}
        self._demands: dict[DeviceRequest | None, DeviceDemand] = {}
        self.levels = Levels(self._pool, [node.node for node in self._board.nodes])
        self.capacity = ReplicaCapacity(self._scores_of, self._current_capacity)
        self._domain_placer = DomainPlacer(self._board, self.levels, self.capacity, spread=self._spread)

    def renumber(self) -> None:
        """Forgets all that hangs on the numbers of nodes."""
        self._renumbered = True
        self.forget_node_facts()

    def begin(self) -> None:
        """Opens a cycle: what was not learnt before is learnt from what is free now."""
        if self._fragmentation is not None and self._fragmentation.learnt is not self._mix.learnt:
            self._mix_evaluated = False

    def use(self, mix: Mix | None) -> None:
        """Values nodes by this mix from now on."""
        self._mix = mix or Mix()
        self._mix_evaluated = False

    def learn(self, mix: Mix) -> Mix:
        """The mix with what is learnt from it and from what is left now."""
        free_capacity = self._current_capacity()
        fresh = replace(mix, learnt=None)
        return (
            replace(fresh, learnt=Fragmentation(free_capacity, fresh).learnt)
            if can_learn(fresh, free_capacity)
            else fresh
        )

    def place(self, chunk: Chunk, *, when: When = When.NOW, keep: bool = False) -> int:
        """Gives every replica of the chunk a spot, or none; returns how many found one.

        With `keep`, a chunk that this cycle evicted stays where it was if all of it still can. If one of its
        replicas must wait for a release, all wait: a gang starts together.
        """
        mark = self._board.mark
        if chunk.work.workload.restart_together and any(slot.base is not None for slot in chunk.slots):
            found = self._put_together(chunk, when=when, keep=keep)
        else:
            found = self._put_all(chunk, when=when, keep=keep)
        if found < len(chunk.slots):
            self._board.undo(mark)
            return found
        for slot in chunk.slots:
            # What is evicted and goes elsewhere has to end before it can start.
            if slot.new is not None and (slot.base is not None or slot.new_phase is Phase.PROMISED):
                self._postpone(chunk.slots)
                break
        return found

    def domains_for(self, chunk: Chunk) -> Integers | None:
        """Of each node the domain in which the whole chunk may go, -1 for none; None where all may do."""
        return (
            None if chunk.work.bond is None else self._domain_placer.domains_for(chunk.work.bond, chunk.slots)
        )

    def no_room(self, chunk: Chunk, found: int) -> Reason:
        """The reason when only `found` replicas of a chunk could be placed."""
        count = len(chunk.slots)
        bond = chunk.work.bond
        wish = bond.required() if bond is not None else None
        if wish is None or wish.required is None:
            return Reason(ReasonKind.NO_ROOM, found, count)
        level = self.levels.at(wish.topology, wish.required)
        most = self._domain_placer.most_in_one(level, chunk.slots)
        used = most if most < count else found
        return Reason(ReasonKind.NO_DOMAIN, used, count, len(level.names), level=wish.required)

    def failed_checks(self, slot: Slot) -> dict[str, int]:
        """On how many nodes a replica fails which check first."""
        affinity_counts = slot.group.work.affinity_counts
        view = (
            None
            if affinity_counts is None
            else affinity_view(slot, affinity_counts, self.levels, rehearsal=False)
        )
        return self._scores_of(slot.request).failed_checks(None if view is None else view.allowed)

    def _put_together(self, chunk: Chunk, *, when: When, keep: bool) -> int:
        """All stay, or all begin again, as they would in the next cycle."""
        mark = self._board.mark
        if keep and self._keep_all(chunk.slots):
            return len(chunk.slots)
        found = self._put_all(chunk, when=when, keep=False, stay=False)
        if found < len(chunk.slots) or not all(_is_back(slot) for slot in chunk.slots):
            return found
        self._board.undo(mark)
        if self._keep_all(chunk.slots):
            return found
        return self._put_all(chunk, when=when, keep=False, stay=False)

    def _keep_all(self, slots: list[Slot]) -> bool:
        mark = self._board.mark
        for slot in slots:
            affinity_counts = slot.group.work.affinity_counts
            view = (
                None
                if affinity_counts is None
                else affinity_view(slot, affinity_counts, self.levels, rehearsal=True)
            )
            allowed = None if view is None else view.allowed
            shunned = allowed is not None and slot.base is not None and not allowed[slot.base.node]
            if shunned or not self._stays(slot):
                self._board.undo(mark)
                return False
        return True

    def _put_all(self, chunk: Chunk, *, when: When, keep: bool, stay: bool = True) -> int:
        """Without `stay`, what was evicted gets a new spot even where it could go on."""
        if chunk.work.bond is not None:
            return self._domain_placer.put(
                chunk,
                lambda slot, mask: self._put(slot, mask, when=when, keep=keep, stay=stay),
                rehearsal=when is not When.NOW,
            )
        if len(chunk.slots) == 1:
            return int(self._put(chunk.slots[0], None, when=when, keep=keep, stay=stay))
        # A gang is one chunk: it stays where it is as a whole, or is placed anew.
        if keep and self._keep_all(chunk.slots):
            return len(chunk.slots)
        # Only what was somewhere before can already be where another one would go.
        matched = (
            stay and chunk.work.affinity_counts is None and any(slot.base is not None for slot in chunk.slots)
        )
        waiting = deque(chunk.slots)
        while waiting:
            slot = self._whose_turn(waiting, when=when) if matched else waiting[0]
            if not self._put(slot, None, when=when, keep=False, stay=stay):
                return len(chunk.slots) - len(waiting)
            waiting.remove(slot)
        return len(chunk.slots)

    def _stays(self, slot: Slot) -> bool:
        """Lets a replica that this cycle evicted stay where it is, if it still can."""
        if slot.base is None or not self._board.can_keep(slot):
            return False
        self._board.keep(slot)
        return True

    def _whose_turn(self, left: Sequence[Slot], *, when: When) -> Slot:
        """The next one, or a member like it that is already where the next one would go."""
        first = left[0]
        if len(left) == 1:
            return first
        node = self._scores_of(first.request, when=when).best()
        for slot in left:
            alike = slot.request is first.request and slot.group is first.group
            if alike and slot.base is not None and slot.base.node == node and self._board.can_keep(slot):
                return slot
        return first

    def _put(self, slot: Slot, mask: Mask | None, *, when: When, keep: bool, stay: bool) -> bool:
        """Gives one replica a spot, on a node of the mask if there is one."""
        board = self._board
        base = slot.base
        affinity_counts = slot.group.work.affinity_counts
        view = (
            None
            if affinity_counts is None
            else affinity_view(slot, affinity_counts, self.levels, rehearsal=when is not When.NOW)
        )
        if view is not None and view.allowed is not None:
            mask = view.allowed if mask is None else mask & view.allowed
        if keep and base is not None and (mask is None or mask[base.node]) and board.can_keep(slot):
            board.keep(slot)
            return True
        scores = self._scores_of(slot.request, when=when)
        within = None if mask is None else mask.nonzero()[0]
        node = scores.best(within, None if view is None else view.unmet)
        if node is None:
            return False
        spot, later = self._spot(node, scores, when=when)
        later = later or (view is not None and view.waits is not None and bool(view.waits[node]))
        if stay and base is not None and _is_as_good(base, spot, slot) and self._can_stay(slot, base, spot):
            board.keep(slot)
        else:
            board.give(slot, spot, Phase.PROMISED if later else Phase.PLACED)
        return True

    def _can_stay(self, slot: Slot, base: Spot, spot: Spot) -> bool:
        """Whether it can stay on its node, where `spot` would be as good; others may change devices."""
        if self._board.can_keep(slot):
            return True
        alike = not slot.request.sliced and self._board.nodes[base.node].links is None
        if not alike or not self.may_swap_promised_devices:
            return False
        return self._board.swap_promised_devices(slot, [index for index, _, _ in spot.devices])

    def _postpone(self, slots: list[Slot]) -> None:
        for slot in slots:
            spot = slot.new
            if spot is not None and slot.new_phase is Phase.PLACED:
                self._board.take(slot)
                self._board.give(slot, spot, Phase.PROMISED)

    def _scores_of(self, request: RequestClass, *, when: When = When.NOW) -> NodeScores:
        """The scores of a class; the arrays behind them show the board as it is now."""
        free_capacity = self._current_capacity()
        key = request.index, when
        scores = self._scores.get(key)
        if scores is None:
            demand = self._demand_of(free_capacity, request)
            scores = NodeScores(
                free_capacity, self._fragmentation, request, demand, spread=self._spread, when=when
            )
            self._scores[key] = scores
        return scores

    def _current_capacity(self) -> FreeCapacity:
        """Brings the arrays up to date, or makes them."""
        free_capacity = self._free_capacity
        if free_capacity is None or self._renumbered or len(free_capacity.conditions) > _MOST_CONDITIONS:
            self._renumbered = False
            fresh = FreeCapacity(self._board)
            # Who remembers a state of the arrays by their changes must not take the new ones for it.
            fresh.changes = 0 if free_capacity is None else free_capacity.changes + 1
            free_capacity = self._free_capacity = fresh
            self._mix_evaluated = False
        elif (changed := free_capacity.refresh()) and self._fragmentation is not None and self._mix_evaluated:
            self._fragmentation.read(changed)
        if not self._mix_evaluated:
            self._evaluate_mix(free_capacity)
        return free_capacity

    def _evaluate_mix(self, free_capacity: FreeCapacity) -> None:
        """Values the nodes by the mix, if there is one; what was scored before counts no more."""
        self._fragmentation = (
            Fragmentation(free_capacity, self._mix) if can_learn(self._mix, free_capacity) else None
        )
        self._scores.clear()
        self._demands.clear()
        self._mix_evaluated = True

    def _demand_of(self, free_capacity: FreeCapacity, request: RequestClass) -> DeviceDemand:
        """What it asks of devices, which other classes may ask too."""
        devices = request.request.devices
        demand = self._demands.get(devices)
        if demand is None:
            cuts = None if self._fragmentation is None else self._fragmentation.cuts_of(request)
            demand = self._demands[devices] = DeviceDemand(free_capacity, request, cuts)
        return demand

    def _spot(self, number: int, scores: NodeScores, *, when: When) -> tuple[Spot, bool]:
        """The devices to take on a node, and whether the replica has to wait for any of it."""
        node, request = self._board.nodes[number], scores.request
        links = node.links if request.count and not request.sliced else None
        found, waits = scores.devices_on(number, links)
        if request.profile is not None:
            fitting = [node.devices[index] for index in found]
            spot, uncarved = place_mig(node, fitting, request, rehearsal=when is not When.NOW)
            return spot, waits or uncarved
        devices = found[: request.count]
        scores.chosen(number, devices)
        kinds, shares = scores.free_capacity.kinds_on[number], scores.demand.shares
        uses = []
        milli = 0
        for index in devices:
            mib, compute, charge = shares[kinds[index]]
            uses.append((index, mib, compute))
            milli += charge
        return Spot(number, tuple(uses), request.charged(milli)), waits


def _is_back(slot: Slot) -> bool:
    return slot.base is not None and slot.new is not None and _is_as_good(slot.base, slot.new, slot)


def _is_as_good(base: Spot, spot: Spot, slot: Slot) -> bool:
    """Whether staying gives the same as moving: on the same node, one whole device is like another."""
    return base.node == spot.node and (not slot.request.sliced or base.devices == spot.devices)
