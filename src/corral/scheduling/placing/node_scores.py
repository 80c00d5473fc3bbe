"""Scores: how good every node is for a class of requests, kept, and worked out again where nodes changed.

A score is one integer, lower is better; its parts lie in bits so that each concern dominates the next:
idle before still releasing, the room that is left for what usually arrives, a shared device that has room
before opening one, packing or spreading, name.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum

import numpy as np

from corral.core.nodes import CORDONED, LOST
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.placing.device_demand import LEVEL_MASK, NO_FIT, TOO_MUCH, DeviceDemand
from corral.scheduling.placing.fragmentation import Fragmentation
from corral.scheduling.placing.free_capacity import Flags, FreeArrays, FreeCapacity, Integers
from corral.scheduling.placing.node_checks import Check
from corral.scheduling.state.device_links import Links
from corral.scheduling.state.request_classes import RequestClass


class When(IntEnum):
    """For which time a place is wanted, and so what that which is leaving counts for."""

    NOW = 0  # it has to be waited for
    NEXT = 1  # in a rehearsal of the next cycle it is gone, but what is idle already is better
    LATER = 2  # it is gone


NOWHERE = 1 << 62
_LATER = 1 << 61
_LOSS_SHIFT = 41
_OPENS_DEVICE = 1 << 40
_PACKING_SHIFT = 24
_MOST_DEVICES = (1 << 15) - 1
_FEW = 12  # nodes, up to which one by one is faster than all at once


class NodeScores:
    """Of one class of requests on every node."""

    def __init__(
        self,
        free_capacity: FreeCapacity,
        fragmentation: Fragmentation | None,
        request: RequestClass,
        demand: DeviceDemand,
        *,
        spread: bool,
        when: When,
    ) -> None:
        self.request = request
        self.free_capacity = free_capacity
        self.demand = demand
        self._fragmentation = fragmentation
        self._after = np.zeros(
            0 if fragmentation is None else len(free_capacity.differs)
        )  # the value of a node with it
        self._spread = spread
        self._when = when
        self._array: Integers = np.full(len(free_capacity.differs), NOWHERE, np.int64)
        self._applied_position = -1  # up to where the stock's changes are in the array
        self._failed: tuple[int, dict[str, int]] | None = None
        self._amounts = np.array([request.cpu_milli, request.memory_mib], np.float64)
        self.allowed = free_capacity.allowed_on(request)
        self.missing = free_capacity.missing_on(request)

    def best(self, within: Integers | None = None, unmet: Integers | None = None) -> int | None:
        """The node with the least score, among those `within` if given; None where it fits nowhere.

        What is `unmet` on each node, of wishes for data, images and neighbours, comes before the score.
        """
        array = self._current()
        unmet = _sum(self.missing, unmet)
        if unmet is not None:
            within = np.arange(len(array)) if within is None else within
            within = within[array.take(within) < NOWHERE]
            if len(within):
                found = unmet.take(within)
                within = within[found == found.min()]
        if within is not None:
            if not len(within):
                return None
            node = int(within[array.take(within).argmin()])
        elif len(array):
            node = int(array.argmin())
        else:
            return None
        return node if array[node] < NOWHERE else None

    def devices_on(self, node: int, links: Links | None = None) -> tuple[list[int], bool]:
        """The devices of a node that the request fits on, best first, and whether it has to wait for them.

        Idle before leaving, then by their keys, then by their links if they are given, then in the node's
        order.
        """
        free_capacity, request, keys = self.free_capacity, self.request, self.demand.keys
        conditions = free_capacity.rows[node].conditions if request.count else []
        row_now = free_capacity.rows_now.get(node)
        if row_now is None:
            if request.count == 1 and links is None:
                found = [keys[number] for number in conditions]
                return [found.index(min(found))], False
            fitting = [index for index, number in enumerate(conditions) if keys[number] < NO_FIT]
            if links is not None:
                return links.best_of(
                    {index: (0, keys[conditions[index]]) for index in fitting}, request.count
                ), False
            fitting.sort(key=lambda index: keys[conditions[index]])
            return fitting, False
        waits = row_now.cpu < request.cpu_milli or row_now.memory < request.memory_mib
        late = [keys[number] >= NO_FIT for number in row_now.conditions] if request.count else []
        fitting = [index for index, number in enumerate(conditions) if keys[number] < NO_FIT]
        ranks = {
            index: (int(late[index] and self._when is When.NOW), keys[conditions[index]]) for index in fitting
        }
        fitting = (
            sorted(fitting, key=ranks.__getitem__) if links is None else links.best_of(ranks, request.count)
        )
        return fitting, waits or any(late[index] for index in fitting[: request.count])

    def chosen(self, node: int, devices: Sequence[int]) -> None:
        """Notes that the request will be there: what the node is worth then is already known."""
        if self._fragmentation is not None:
            conditions = self.free_capacity.rows[node].conditions
            keys = [self.demand.keys[conditions[device]] for device in devices]
            self._fragmentation.expect(self.request, node, keys, float(self._after[node]))

    def failed_checks(self, neighbours: Flags | None = None) -> dict[str, int]:
        """On how many nodes which check is the first to fail, even after waiting for what is leaving.

        `neighbours` says where they allow it.
        """
        if neighbours is not None:
            return self._count_failed(neighbours)
        if self._failed is None or self._failed[0] != self.free_capacity.changes:
            self._failed = self.free_capacity.changes, self._count_failed(None)
        return self._failed[1]

    def _count_failed(self, neighbours: Flags | None) -> dict[str, int]:
        free_capacity, request, later = self.free_capacity, self.request, self.free_capacity.later
        fitting = self.demand.array().take(free_capacity.condition) < NO_FIT
        usable = (self.demand.mib.take(free_capacity.kind) < TOO_MUCH).sum(axis=1)
        passed = {}
        if self.allowed is not None and not self.allowed.all():
            passed = {
                Check.CORDONED: free_capacity.without_taint(CORDONED),
                Check.LOST: free_capacity.without_taint(LOST),
                Check.LABELS: self.allowed,
            }
        passed |= {
            Check.DEVICE_KIND: usable >= min(request.count, 1),
            Check.DEVICE_COUNT: usable >= request.count,
            Check.PODS: later.pods > 0,
            Check.CPU: later.cpu >= request.cpu_milli,
            Check.MEMORY: later.memory >= request.memory_mib,
            Check.DEVICES: fitting.sum(axis=1) >= request.count,
        }
        if neighbours is not None:
            passed[Check.NEIGHBOURS] = neighbours
        counts = {}
        candidates = np.ones_like(free_capacity.differs)
        for check, passes in passed.items():
            failed = int((candidates & ~passes).sum())
            if failed:
                counts[check.value] = failed
            candidates &= passes
        return dict(sorted(counts.items()))

    def replica_counts(self, left: FreeArrays, among: Integers | None = None) -> Integers:
        """For how many replicas each node has room; `left` is of those `among`, if given."""
        request, demand = self.request, self.demand
        kind = self.free_capacity.kind if among is None else self.free_capacity.kind[among]
        replica_counts: Integers = left.pods.copy()
        for have, need in ((left.cpu, request.cpu_milli), (left.memory, request.memory_mib)):
            if need:
                np.minimum(replica_counts, have // need, out=replica_counts)
        if request.count:
            places = left.mib // demand.mib.take(kind)
            if request.sliced and demand.compute.any():
                asked_compute = np.maximum(demand.compute.take(kind), 1)
                np.minimum(places, left.compute // asked_compute, out=places)
            if demand.mig_counts is not None:
                np.minimum(places, demand.mig_counts[kind, left.slices], out=places)
            np.maximum(places, 0, out=places)
            enough = (places > 0).sum(axis=1) >= request.count
            np.minimum(replica_counts, places.sum(axis=1) // request.count * enough, out=replica_counts)
        if self.allowed is not None:
            replica_counts *= self.allowed if among is None else self.allowed[among]
        return np.maximum(replica_counts, 0)

    def _current(self) -> Integers:
        free_capacity, position = self.free_capacity, self._applied_position
        self._applied_position = free_capacity.position
        if position == self._applied_position:
            return self._array
        changed = free_capacity.changed_since(position)
        if changed is None:
            self._score(np.arange(len(self._array)))
        elif len(changed) <= _FEW:
            self._score_each(changed)
        else:
            self._score(np.fromiter(changed, np.int64, len(changed)))
        return self._array

    def _score_each(self, nodes: Iterable[int]) -> None:
        """The same as `_score`, one by one: for a few nodes arrays cost more than they save."""
        keys, fitting, devices = self.demand.current(), list[int](), list[list[int]]()
        for node in nodes:
            score, chosen = self._score_of(node, keys)
            self._array[node] = score
            if score < NOWHERE:
                fitting.append(node)
                devices.append(chosen)
        if self._fragmentation is not None and fitting:
            losses, after = self._fragmentation.losses_on(self.request, fitting, devices)
            for node, loss, value in zip(fitting, losses, after, strict=True):
                self._array[node] += loss << _LOSS_SHIFT
                self._after[node] = value

    def _score_of(self, node: int, keys: list[int]) -> tuple[int, list[int]]:
        """The score of a node, without the room that is lost, and the keys of the devices to take there."""
        request, count = self.request, self.request.count
        cpu, memory, free, conditions = self.free_capacity.rows[node]
        if cpu < request.cpu_milli or memory < request.memory_mib:
            return NOWHERE, []
        if self.allowed is not None and not self.allowed[node]:
            return NOWHERE, []
        score = node + ((_MOST_DEVICES - free if self._spread else free) << _PACKING_SHIFT)
        found = [keys[number] for number in conditions] if count else []
        row_now = self.free_capacity.rows_now.get(node)
        if row_now is not None and self._when is not When.LATER:
            ready = row_now.cpu >= request.cpu_milli and row_now.memory >= request.memory_mib
            if count:
                idle = [keys[number] < NO_FIT for number in row_now.conditions]
                if self._when is When.NEXT:
                    ready = ready and sum(idle) >= count
                else:
                    at_once = [key for key, now in zip(found, idle, strict=True) if now and key < NO_FIT]
                    ready = ready and len(at_once) >= count
                    found = at_once if ready else found
            if not ready:
                score += _LATER
        if not count:
            return score, found
        if count > len(found):
            return NOWHERE, []
        found = [min(found)] if count == 1 else sorted(found)[:count]
        if found[-1] >= NO_FIT:
            return NOWHERE, []
        if request.sliced and found[-1] & LEVEL_MASK == WHOLE_DEVICE_MILLI:
            score += _OPENS_DEVICE
        return score, found

    def _score(self, among: Integers) -> None:
        free_capacity, request, array = self.free_capacity, self.request, self._array
        array[among] = NOWHERE
        left = free_capacity.totals.take(among, axis=0)
        left -= self._amounts
        fits = np.logical_and.reduce(left >= 0, axis=1)
        if self.allowed is not None:
            fits &= self.allowed.take(among)
        keys: Integers = np.zeros((len(among), 0), np.int64)
        if request.count:
            keys = self.demand.array().take(free_capacity.condition.take(among, axis=0))
        late = self._late(among, keys) if free_capacity.rows_now and self._when is not When.LATER else None
        if request.count:
            keys = _least(keys, request.count)
            fits &= keys[:, -1] < NO_FIT
        some = fits.nonzero()[0]
        if not len(some):
            return
        if len(some) < len(among):
            among, left, keys = among[some], left[some], keys[some]
        free = free_capacity.free.take(among)
        score = (_MOST_DEVICES - free if self._spread else free) << _PACKING_SHIFT
        score += among
        if late is not None:
            score += late[some]
        if request.sliced:
            score[(keys[:, -1] & LEVEL_MASK) == WHOLE_DEVICE_MILLI] += _OPENS_DEVICE
        if self._fragmentation is not None:
            loss, self._after[among] = self._fragmentation.losses(among, left, keys)
            score += loss << _LOSS_SHIFT
        array[among] = score

    def _late(self, among: Integers, keys: Integers) -> Integers:
        """What waiting for a release costs; where nothing must wait, only devices that fit now count."""
        free_capacity, request = self.free_capacity, self.request
        score: Integers = np.zeros(len(among), np.int64)
        differs = free_capacity.differs.take(among).nonzero()[0]
        if not len(differs):
            return score
        on = among[differs]
        ready = (free_capacity.totals_now.take(on, axis=0) >= self._amounts).all(axis=1)
        if request.count:
            idle = self.demand.array().take(free_capacity.condition_now.take(on, axis=0)) < NO_FIT
            if self._when is When.NEXT:
                # Who gets which devices of the node is open until they are there.
                ready &= idle.sum(axis=1) >= request.count
            else:
                at_once = np.where(idle, keys[differs], NO_FIT)
                ready &= _least(at_once, request.count)[:, -1] < NO_FIT
                keys[differs[ready]] = at_once[ready]
        score[differs[~ready]] = _LATER
        return score


def _sum(one: Integers | None, other: Integers | None) -> Integers | None:
    return other if one is None else one if other is None else one + other


def _least(keys: Integers, count: int) -> Integers:
    """[node, of `count`]: the least keys of each node, in order; NO_FIT where there are too few."""
    if count == 1 and keys.shape[1]:
        least: Integers = np.minimum.reduce(keys, axis=1, keepdims=True)
        return least
    if count > keys.shape[1]:
        return np.full((len(keys), 1), NO_FIT, np.int64)
    return np.sort(keys, axis=1)[:, :count]
