"""Place: the best node for a replica, its devices there, and whole chunks all or nothing.

The score of a node is one integer, lower is better; its parts lie in bits so that each concern dominates
the next: idle before still releasing, a shared device that has room before opening one, packing or
spreading, name. Scores are kept per class of requests; only nodes that changed are scored again.
"""

from collections import Counter

import numpy as np
import numpy.typing as npt

from corral.core.nodes import Arrangement
from corral.core.resources import Amount
from corral.scheduling.board import Board, DeviceState, NodeState
from corral.scheduling.fit import first_failed, fitting_devices, totals_fit, usable_devices
from corral.scheduling.requests import RequestClass
from corral.scheduling.work import Chunk, Phase, Slot, Spot

NOWHERE = 1 << 62
_LATER = 1 << 61
_OPENS_DEVICE = 1 << 40
_PACKING_SHIFT = 24
_MOST_DEVICES = (1 << 15) - 1


class _Scores:
    """Of one class of requests on every node, and how much of the board's changes they have seen."""

    __slots__ = ("array", "seen", "usable")

    def __init__(self, board: Board, request: RequestClass) -> None:
        self.array: npt.NDArray[np.int64] = np.full(len(board.nodes), NOWHERE, dtype=np.int64)
        self.usable: list[tuple[int, ...] | None] = [
            usable_devices(request, node.node.devices) if request.allowed_on(node.node) else None
            for node in board.nodes
        ]
        self.seen = -1


class Placer:
    """Finds places on a board."""

    def __init__(self, board: Board, arrangement: Arrangement) -> None:
        self._board = board
        self._spread = arrangement is Arrangement.SPREADING
        self._scores: dict[tuple[int, bool], _Scores] = {}

    def place(self, chunk: Chunk, *, rehearsal: bool = False, keep: bool = False) -> int:
        """Gives every replica of the chunk a spot, or none; returns how many found one.

        In a rehearsal of the next cycle what is leaving counts as gone. With `keep`, a replica that
        this cycle evicted stays where it was if it still can. If one of
        them must wait for a release, all wait: a gang starts together.
        """
        board = self._board
        mark = board.mark
        waits = False
        given: list[Slot] = []
        for found, slot in enumerate(chunk.slots):
            if keep and slot.base is not None and board.can_keep(slot):
                board.keep(slot)
                continue
            node = self._best(slot.request, rehearsal=rehearsal)
            if node is None:
                board.undo(mark)
                return found
            spot, later = self._spot(node, slot.request, rehearsal=rehearsal)
            if slot.base is not None and _is_as_good(slot.base, spot, slot) and board.can_keep(slot):
                board.keep(slot)
                continue
            # What is evicted and goes elsewhere has to end before it can start.
            waits = waits or later or slot.base is not None
            board.give(slot, spot, Phase.PROMISED if later else Phase.PLACED)
            given.append(slot)
        if waits:
            self._postpone(given)
        return len(chunk.slots)

    def failed_checks(self, request: RequestClass) -> dict[str, int]:
        """On how many nodes the request fails which check first."""
        usable = self._scores_of(request).usable
        counts: Counter[str] = Counter()
        for node in self._board.nodes:
            failed = first_failed(node, usable[node.index] or (), request)
            if failed is not None:
                counts[failed.value] += 1
        return dict(sorted(counts.items()))

    def _postpone(self, slots: list[Slot]) -> None:
        for slot in slots:
            if slot.new_phase is Phase.PLACED:
                spot = slot.new
                assert spot is not None
                self._board.take(slot)
                self._board.give(slot, spot, Phase.PROMISED)

    def _scores_of(self, request: RequestClass, *, rehearsal: bool = False) -> _Scores:
        key = request.index, rehearsal
        scores = self._scores.get(key)
        if scores is None:
            scores = self._scores[key] = _Scores(self._board, request)
        return scores

    def _best(self, request: RequestClass, *, rehearsal: bool) -> int | None:
        scores = self._scores_of(request, rehearsal=rehearsal)
        board = self._board
        changed = board.changed
        if scores.seen < 0 or len(changed) - scores.seen > len(board.nodes):
            stale: set[int] | range = range(len(board.nodes))
        else:
            stale = set(changed[scores.seen :])
        array = scores.array
        for index in stale:
            array[index] = self._score(board.nodes[index], scores.usable[index], request, rehearsal=rehearsal)
        scores.seen = len(changed)
        if not len(array):
            return None
        best = int(array.argmin())
        return best if array[best] < NOWHERE else None

    def _score(
        self, node: NodeState, usable: tuple[int, ...] | None, request: RequestClass, *, rehearsal: bool
    ) -> int:
        if usable is None or len(usable) < request.count:
            return NOWHERE
        now, later = totals_fit(node, request)
        if not later:
            return NOWHERE
        now = now and not rehearsal
        score = 0
        if request.count:
            fitting = fitting_devices(node, usable, request, later=False) if now else []
            if len(fitting) < request.count:
                fitting = fitting_devices(node, usable, request, later=True)
                now = False
            if len(fitting) < request.count:
                return NOWHERE
            if request.sliced and sum(not device.free_later for device in fitting) < request.count:
                score += _OPENS_DEVICE
        if not now and not rehearsal:
            score += _LATER
        free = sum(device.free_later for device in node.devices)
        packing = _MOST_DEVICES - free if self._spread else free
        return score + (packing << _PACKING_SHIFT) + node.index

    def _spot(self, number: int, request: RequestClass, *, rehearsal: bool) -> tuple[Spot, bool]:
        """The devices to take on a node, and whether the replica has to wait for any of it."""
        node = self._board.nodes[number]
        waits = not totals_fit(node, request)[0]
        if not request.count:
            return Spot(number, (), Amount(0, request.cpu_milli, request.memory_mib)), waits
        usable = self._scores_of(request).usable[number] or ()
        fitting = fitting_devices(node, usable, request, later=True)
        fitting.sort(key=lambda device: _device_turn(device, request, rehearsal=rehearsal))
        uses = []
        milli = 0
        for device in fitting[: request.count]:
            mib, compute = request.slice_on(device.memory_mib) if request.sliced else (device.memory_mib, 100)
            uses.append((device.index, mib, compute))
            milli += request.charge(device.memory_mib)
            waits = waits or not device.fits_now(mib, compute)
        return Spot(number, tuple(uses), Amount(milli, request.cpu_milli, request.memory_mib)), waits


def _is_as_good(base: Spot, spot: Spot, slot: Slot) -> bool:
    """Whether staying gives the same as moving: on the same node, one whole device is like another."""
    return base.node == spot.node and (not slot.request.sliced or base.devices == spot.devices)


def _device_turn(device: DeviceState, request: RequestClass, *, rehearsal: bool) -> tuple[bool, int, int]:
    """Idle before leaving; slices on the fullest; then in the node's order."""
    if not request.sliced:
        return not device.free_now and not rehearsal, 0, device.index
    mib, compute = request.slice_on(device.memory_mib)
    held = device.mib - device.leaving_mib + device.promised_mib
    return not device.fits_now(mib, compute) and not rehearsal, -held, device.index
