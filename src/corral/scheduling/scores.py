"""Scores: how good every node is for a class of requests, kept, and worked out again where nodes changed.

A score is one integer, lower is better; its parts lie in bits so that each concern dominates the next:
idle before still releasing, the room that is left for what usually arrives, a shared device that has room
before opening one, packing or spreading, name.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from corral.core.devices import Device
from corral.scheduling.fit import Check
from corral.scheduling.mig import grid_of
from corral.scheduling.requests import RequestClass
from corral.scheduling.room import Room
from corral.scheduling.stock import Flags, Integers, Left, Stock

NOWHERE = 1 << 62
_LATER = 1 << 61
_LOSS_SHIFT = 41
_OPENS_DEVICE = 1 << 40
_PACKING_SHIFT = 24
_MOST_DEVICES = (1 << 15) - 1
_TOO_MUCH = 1 << 60


class Scores:
    """Of one class of requests on every node.

    In a rehearsal what is leaving counts as gone, so nothing has to wait.
    """

    def __init__(
        self, stock: Stock, room: Room | None, request: RequestClass, *, spread: bool, rehearsal: bool
    ) -> None:
        self.request = request
        self.stock = stock
        self._room = room
        self._cuts: Integers | None = None if room is None else room.cuts_of(request)
        self._no_cuts: tuple[int, ...] = (0,) * stock.kind.shape[1]
        self._after = np.zeros(0 if room is None else len(stock.differs))  # the value of a node with it
        self._spread = spread
        self._rehearsal = rehearsal
        self._array: Integers = np.full(len(stock.differs), NOWHERE, np.int64)
        self._seen = -1
        self._failed: tuple[int, dict[str, int]] | None = None
        self.allowed = stock.allowed_on(request)
        self.missing = stock.missing_on(request)
        self._takes = [request.takes_device(device) for device in stock.kinds]
        asked = [
            request.share_of(device) if takes else (_TOO_MUCH, 0)
            for takes, device in zip(self._takes, stock.kinds, strict=True)
        ]
        self._mib: Integers = np.array([mib for mib, _ in asked] + [_TOO_MUCH], np.int64)
        compute = [compute for _, compute in asked] + [0]
        # Whoever asks for all of a device's memory has it alone.
        self._compute: Integers | None = (
            np.array(compute, np.int64) if request.sliced and any(compute) else None
        )
        # [kind, free slices]: how many instances of the profile fit.
        self._carvable = _carvable(stock.kinds, request.profile) if request.profile is not None else None
        self._usable: dict[tuple[int, ...], tuple[int, ...]] = {}

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

    def usable(self, node: int) -> tuple[int, ...]:
        """The numbers of the devices of a node whose model, mode and size allow the request."""
        kinds = self.stock.kinds_on[node]
        found = self._usable.get(kinds)
        if found is None:
            found = tuple(index for index, kind in enumerate(kinds) if self._takes[kind])
            self._usable[kinds] = found
        return found

    def cuts_on(self, node: int) -> Sequence[int]:
        """What each device of a node costs, in room for what usually arrives; nothing with an empty mix."""
        if self._room is None or self._cuts is None:
            return self._no_cuts
        cuts: Sequence[int] = self._room.cuts_on(self._cuts, node)
        return cuts

    def chosen(self, node: int, devices: Iterable[int]) -> None:
        """Notes that the request will be there: what the node is worth then is already known."""
        if self._room is not None and self._cuts is not None:
            self._room.expect(self.request, self._cuts, node, devices, float(self._after[node]))

    def failed_checks(self, neighbours: Flags | None = None) -> dict[str, int]:
        """On how many nodes which check is the first to fail, even after waiting for what is leaving.

        `neighbours` says where they allow it.
        """
        if neighbours is not None:
            return self._count_failed(neighbours)
        if self._failed is None or self._failed[0] != self.stock.changes:
            self._failed = self.stock.changes, self._count_failed(None)
        return self._failed[1]

    def _count_failed(self, neighbours: Flags | None) -> dict[str, int]:
        stock, request, later = self.stock, self.request, self.stock.later
        everywhere = np.arange(len(self._array))
        passed = {
            Check.LABELS: np.ones_like(stock.differs) if self.allowed is None else self.allowed,
            Check.DEVICE_KIND: (self._mib.take(stock.kind) < _TOO_MUCH).sum(axis=1) >= request.count,
            Check.PODS: later.pods > 0,
            Check.CPU: later.cpu >= request.cpu_milli,
            Check.MEMORY: later.memory >= request.memory_mib,
            Check.DEVICES: self.fitting(later, everywhere).sum(axis=1) >= request.count,
        }
        if neighbours is not None:
            passed[Check.NEIGHBOURS] = neighbours
        counts = {}
        candidates = np.ones_like(stock.differs)
        for check, passes in passed.items():
            failed = int((candidates & ~passes).sum())
            if failed:
                counts[check.value] = failed
            candidates &= passes
        return dict(sorted(counts.items()))

    def fitting(self, left: Left, among: Integers) -> Flags:
        """[node, device]: whether it has room for one slice, or for the whole."""
        stock = self.stock
        kind = stock.kind.take(among, axis=0)
        fits: Flags = left.mib.take(among, axis=0) >= self._mib.take(kind)
        if self._compute is not None:
            fits &= left.compute.take(among, axis=0) >= self._compute.take(kind)
        if self._carvable is not None:
            fits &= self._carvable[kind, left.slices.take(among, axis=0)] > 0
        return fits

    def rooms(self, left: Left) -> Integers:
        """For how many replicas each node has room."""
        request = self.request
        rooms: Integers = left.pods.copy()
        for have, asked in ((left.cpu, request.cpu_milli), (left.memory, request.memory_mib)):
            if asked:
                np.minimum(rooms, have // asked, out=rooms)
        if request.count:
            places = left.mib // self._mib.take(self.stock.kind)
            if self._compute is not None:
                asked_compute = np.maximum(self._compute.take(self.stock.kind), 1)
                np.minimum(places, left.compute // asked_compute, out=places)
            if self._carvable is not None:
                np.minimum(places, self._carvable[self.stock.kind, left.slices], out=places)
            np.maximum(places, 0, out=places)
            enough = (places > 0).sum(axis=1) >= request.count
            np.minimum(rooms, places.sum(axis=1) // request.count * enough, out=rooms)
        if self.allowed is not None:
            rooms *= self.allowed
        return np.maximum(rooms, 0)

    def _current(self) -> Integers:
        stock = self.stock
        if self._seen < 0:
            self._score(np.arange(len(self._array)))
        elif self._seen != stock.changes:
            self._score((stock.changed_at > self._seen).nonzero()[0])
        self._seen = stock.changes
        return self._array

    def _score(self, among: Integers) -> None:
        stock, request, later = self.stock, self.request, self.stock.later
        array = self._array
        array[among] = NOWHERE
        fits = later.cpu.take(among) >= request.cpu_milli
        fits &= later.memory.take(among) >= request.memory_mib
        fits &= later.pods.take(among) > 0
        if self.allowed is not None:
            fits &= self.allowed.take(among)
        among = among[fits]
        fitting: Flags | None = None
        if request.count:
            fitting = self.fitting(later, among)
            fits = _enough(fitting, request.count)
            among, fitting = among[fits], fitting[fits]
        if not len(among):
            return
        score = self._late(among, fitting)
        if self._room is not None and self._cuts is not None:
            loss, self._after[among] = self._room.losses(request, self._cuts, among, fitting)
            score += loss << _LOSS_SHIFT
        if request.sliced and fitting is not None:
            fitting &= ~stock.untouched.take(among, axis=0)
            score[~_enough(fitting, request.count)] += _OPENS_DEVICE
        free = stock.free.take(among)
        score += ((_MOST_DEVICES - free if self._spread else free) << _PACKING_SHIFT) + among
        array[among] = score

    def _late(self, among: Integers, fitting: Flags | None) -> Integers:
        """What waiting for a release costs; devices that fit now replace those that fit later."""
        score: Integers = np.zeros(len(among), np.int64)
        stock, request, now = self.stock, self.request, self.stock.now
        if self._rehearsal:
            return score
        differs = stock.differs.take(among).nonzero()[0]
        if not len(differs):
            return score
        on = among[differs]
        ready = (now.cpu.take(on) >= request.cpu_milli) & (now.memory.take(on) >= request.memory_mib)
        ready &= now.pods.take(on) > 0
        if fitting is not None:
            at_once = self.fitting(now, on)
            ready &= _enough(at_once, request.count)
            fitting[differs[ready]] = at_once[ready]
        score[differs[~ready]] = _LATER
        return score


def _sum(one: Integers | None, other: Integers | None) -> Integers | None:
    return other if one is None else one if other is None else one + other


def _carvable(kinds: Sequence[Device], profile: str) -> Integers:
    """One row for each kind of device, and one for no device."""
    none = np.zeros(256, np.int64)
    grids = [grid_of(device) for device in kinds]
    return np.stack([none if grid is None else grid.table(profile) for grid in grids] + [none])


def _enough(fitting: Flags, count: int) -> Flags:
    """The ufuncs themselves: the methods that wrap them cost as much again on few nodes."""
    enough: Flags = (
        np.logical_or.reduce(fitting, axis=1) if count == 1 else np.add.reduce(fitting, axis=1) >= count
    )
    return enough
