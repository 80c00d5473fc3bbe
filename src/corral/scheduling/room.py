"""Room: what every node is worth for the work that usually arrives, and how much of that a request takes.

`docs/scheduling/placement.md` explains the rule and what it was measured to give.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from corral.core.mixes import Experience, Mix
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.requests import RequestClass
from corral.scheduling.room_lesson import (
    FILL_UNIT,
    SHARE_UNIT,
    Fleet,
    Floats,
    Integers,
    Lesson,
    RoomConfig,
    kind_name,
    share_on,
)
from corral.scheduling.room_mix import Tally, work_class
from corral.scheduling.stock import Flags, Stock

LEVELS = WHOLE_DEVICE_MILLI + 1
# A loss and the milli left travel in one number, loss << 11 | milli, so that one minimum finds both.
LEVEL_BITS = 11
LEVEL_MASK = (1 << LEVEL_BITS) - 1
NO_FIT = 1 << 50
# Losses are compared in steps of 0.01 milli of weighted room, coarser where a node has over 10 devices, and
# so stay below 2**20.
LOSS_STEP = FILL_UNIT * SHARE_UNIT / 100
DEVICES_PER_STEP = 10
MOST_LOSS = (1 << 20) - 1
_MOST_GAIN = 1 << 10  # a smaller gap may fill better; rarely, and by little
_MANY = 256  # from so many nodes on it pays to look for those in the same state
_MOST_REMEMBERED = 1 << 17


def has_lesson(mix: Mix, stock: Stock) -> bool:
    """Whether there is anything to learn: GPUs, and work on them that arrived."""
    counts = mix.learnt.counts if mix.learnt is not None else mix.counts
    return bool(stock.kinds) and any(each.work.gpus for each in counts)


class Room:
    """The values of a stock's nodes under what was learnt from a mix."""

    def __init__(self, stock: Stock, mix: Mix, config: RoomConfig | None = None) -> None:
        config = config or RoomConfig()
        self._stock = stock
        count, width = stock.kind.shape
        together = [tuple(sorted(set(kinds))) for kinds in stock.kinds_on]
        groups = {kinds: index for index, kinds in enumerate(sorted(set(together)))}
        fleet = Fleet(
            tuple(stock.kinds), tuple(groups), width, WHOLE_DEVICE_MILLI * sum(map(len, stock.kinds_on))
        )
        self._group: Integers = np.array([groups[kinds] for kinds in together], np.int64)
        self._step = LOSS_STEP * -(-width // DEVICES_PER_STEP)
        # The state in the form that scoring reads.
        self._cpu = np.zeros(count)  # less than none where no pods are left
        self._memory = np.zeros(count)
        self._slots: Integers = np.zeros((count, width), np.int64)  # places in the tables of levels
        self._row: Integers = np.zeros(count, np.int64)  # which weights count: by group and untouched devices
        self._fill = np.zeros(count)
        self._value = np.zeros(count)
        self._state: Integers = np.zeros(count, np.int64)  # equal where all work loses the same
        self._states: dict[tuple[float, ...], int] = {}
        self._known: dict[tuple[float, ...], float] = {}  # values by row, CPU, memory and fill
        self._cuts: dict[tuple[int, ...], Integers] = {}
        kinds = tuple(map(kind_name, stock.kinds))
        learnt = mix.learnt if mix.learnt is not None and mix.learnt.kinds == kinds else None
        counts = learnt.counts if learnt is not None else Tally(mix).gpu_counts()
        self._lesson = Lesson(counts, fleet, config)
        self._fills: list[list[float]] = [table.tolist() for table in self._lesson.fill]
        unvalued = self._take_over(range(count))
        if learnt is None:
            untouched = self._row - self._group * (width + 1)
            room = self._lesson.room_left(self._group, self._cpu, self._memory, self._fill, untouched)
            learnt = Experience(counts, kinds, room, Tally(mix).turnover())
        self.learnt = learnt
        self._lesson.weigh(learnt.room, learnt.turnover, config)
        self._revalue(unvalued)

    def read(self, nodes: Iterable[int]) -> None:
        """Takes over the state of these nodes, and values them."""
        unvalued = self._take_over(nodes)
        if unvalued:
            self._revalue(unvalued)

    def cuts_of(self, request: RequestClass) -> Integers:
        """For every kind and level of a device: the fill lost by cutting the request's share off it."""
        if request.profile is None:
            work = work_class(request.request)
            shares = tuple(share_on(work, kind) for kind in self._stock.kinds)
        else:
            shares = tuple(request.charge_on(kind) for kind in self._stock.kinds)
        known = self._cuts.get(shares)
        if known is None:
            tables = []
            for fill, share in zip(self._lesson.fill, shares, strict=True):
                level = np.arange(LEVELS)
                # The board decides what fits; by its MiB a slice may need a thousandth less than its share.
                lost = fill - fill[np.maximum(level - share, 0)]
                tables.append((lost.astype(np.int64) << LEVEL_BITS) + level)
            known = self._cuts[shares] = np.concatenate(tables)
        return known

    def losses(
        self, request: RequestClass, cuts: Integers, among: Integers, fitting: Flags | None
    ) -> tuple[Integers, Floats]:
        """On each of these nodes, where the request fits: the value lost, in steps, and the value after."""
        if len(among) < _MANY:
            return self._losses(request, cuts, among, fitting)
        _, first, like = np.unique(self._state.take(among), return_index=True, return_inverse=True)
        some = None if fitting is None else fitting[first]
        loss, after = self._losses(request, cuts, among[first], some)
        return loss[like], after[like]

    def _losses(
        self, request: RequestClass, cuts: Integers, among: Integers, fitting: Flags | None
    ) -> tuple[Integers, Floats]:
        row, fill = self._row.take(among), self._fill.take(among)
        if fitting is not None:
            keys = np.where(fitting, cuts.take(self._slots.take(among, axis=0)), NO_FIT)
            if request.count > 1:
                keys.sort(axis=1)
                keys = keys[:, : request.count]
                row -= ((keys & LEVEL_MASK) == WHOLE_DEVICE_MILLI).sum(axis=1)
                fill -= (keys >> LEVEL_BITS).sum(axis=1)
            else:
                least = np.minimum.reduce(keys, axis=1)
                row -= (least & LEVEL_MASK) == WHOLE_DEVICE_MILLI
                fill -= least >> LEVEL_BITS
        cpu = self._cpu.take(among) - request.cpu_milli
        memory = self._memory.take(among) - request.memory_mib
        after = self._lesson.values(row, self._group.take(among), cpu, memory, fill)
        loss = np.rint((self._value.take(among) - after) / self._step).astype(np.int64)
        return np.minimum(np.maximum(loss, -_MOST_GAIN), MOST_LOSS), after

    def cuts_on(self, cuts: Integers, node: int) -> list[int]:
        """What is lost on each device of a node, and then how full it is: smaller is better."""
        lost: list[int] = cuts.take(self._slots[node]).tolist()
        return lost

    def expect(
        self, request: RequestClass, cuts: Integers, node: int, devices: Iterable[int], after: float
    ) -> None:
        """Remembers the value that scoring worked out for a node with the request on these devices."""
        row, fill = int(self._row[node]), float(self._fill[node])
        for device in devices:
            key = int(cuts[self._slots[node, device]])
            row -= key & LEVEL_MASK == WHOLE_DEVICE_MILLI
            fill -= key >> LEVEL_BITS
        cpu = float(self._cpu[node]) - request.cpu_milli
        self._remember((row, cpu, float(self._memory[node]) - request.memory_mib, fill), after)

    def _take_over(self, nodes: Iterable[int]) -> list[int]:
        """Reads the state of these nodes; returns those whose value is not known."""
        stock, fills = self._stock, self._fills
        width = stock.kind.shape[1]
        unvalued = []
        for index in nodes:
            cpu, memory, pods, mib, compute = stock.rows[index]
            if pods <= 0:
                cpu = -1
            levels = []
            fill, untouched = 0.0, 0
            kinds, sizes = stock.kinds_on[index], stock.sizes_on[index]
            for kind, size, left, percent in zip(kinds, sizes, mib, compute, strict=True):
                if left == size:
                    level = WHOLE_DEVICE_MILLI
                    untouched += 1
                else:
                    level = min(WHOLE_DEVICE_MILLI * left // size, 10 * percent)
                fill += fills[kind][level]
                levels.append(level + LEVELS * kind)
            row = int(self._group[index]) * (width + 1) + untouched
            self._cpu[index] = cpu
            self._memory[index] = memory
            self._slots[index, : len(levels)] = levels
            self._row[index] = row
            self._fill[index] = fill
            if stock.differs[index]:
                self._state[index] = -1 - index
            else:
                state = row, cpu, memory, *levels
                self._state[index] = self._states.setdefault(state, len(self._states))
            value = self._known.get((row, cpu, memory, fill))
            if value is None:
                unvalued.append(index)
            else:
                self._value[index] = value
        return unvalued

    def _revalue(self, nodes: list[int]) -> None:
        among = np.array(nodes, np.int64)
        row, cpu, memory = self._row.take(among), self._cpu.take(among), self._memory.take(among)
        fill = self._fill.take(among)
        values = self._lesson.values(row, self._group.take(among), cpu, memory, fill)
        self._value[among] = values
        for number, value in enumerate(values.tolist()):
            self._remember((int(row[number]), cpu[number], memory[number], fill[number]), value)

    def _remember(self, state: tuple[float, ...], value: float) -> None:
        if len(self._known) > _MOST_REMEMBERED:
            self._known.clear()
        self._known[state] = value
