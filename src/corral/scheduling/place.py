"""Place: the best node for a replica, its devices there, and whole chunks all or nothing."""

from corral.core.nodes import Arrangement
from corral.core.resources import Amount
from corral.scheduling.board import Board, DeviceState
from corral.scheduling.fit import fitting_devices, totals_fit
from corral.scheduling.requests import RequestClass
from corral.scheduling.scores import Scores
from corral.scheduling.stock import Stock
from corral.scheduling.work import Chunk, Phase, Slot, Spot


class Placer:
    """Finds places on a board."""

    def __init__(self, board: Board, arrangement: Arrangement) -> None:
        self._board = board
        self._spread = arrangement is Arrangement.SPREADING
        self._stock: Stock | None = None
        self._scores: dict[tuple[int, bool], Scores] = {}

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
            scores = self._scores_of(slot.request, rehearsal=rehearsal)
            node = scores.best()
            if node is None:
                board.undo(mark)
                return found
            spot, later = self._spot(node, scores, rehearsal=rehearsal)
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
        return self._scores_of(request, rehearsal=False).failed_checks()

    def _postpone(self, slots: list[Slot]) -> None:
        for slot in slots:
            if slot.new_phase is Phase.PLACED:
                spot = slot.new
                assert spot is not None
                self._board.take(slot)
                self._board.give(slot, spot, Phase.PROMISED)

    def _scores_of(self, request: RequestClass, *, rehearsal: bool) -> Scores:
        """The scores of a class; the arrays behind them show the board as it is now."""
        if self._stock is None:
            self._stock = Stock(self._board)
        self._stock.refresh()
        key = request.index, rehearsal
        scores = self._scores.get(key)
        if scores is None:
            scores = Scores(self._stock, request, spread=self._spread, rehearsal=rehearsal)
            self._scores[key] = scores
        return scores

    def _spot(self, number: int, scores: Scores, *, rehearsal: bool) -> tuple[Spot, bool]:
        """The devices to take on a node, and whether the replica has to wait for any of it."""
        node, request = self._board.nodes[number], scores.request
        waits = not totals_fit(node, request)[0]
        if not request.count:
            return Spot(number, (), Amount(0, request.cpu_milli, request.memory_mib)), waits
        fitting = fitting_devices(node, scores.usable(number), request, later=True)
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
