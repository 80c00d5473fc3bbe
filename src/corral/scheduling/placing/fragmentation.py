"""Fragmentation: what every node is worth for the work that usually arrives, and how much a request costs.

`docs/scheduling/placement.md` explains the rule and what it was measured to give.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from corral.core.mixes import Experience, Mix
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.placing.arrival_mix import Tally, work_class
from corral.scheduling.placing.device_demand import LEVEL_BITS, LEVEL_MASK
from corral.scheduling.placing.fragmentation_model import (
    FILL_UNIT,
    MUCH_TURNOVER,
    SHARE_UNIT,
    Fleet,
    Floats,
    FragmentationConfig,
    FragmentationModel,
    Integers,
    kind_name,
    share_on,
)
from corral.scheduling.placing.free_capacity import FreeCapacity
from corral.scheduling.state.request_classes import RequestClass

# Losses are compared in steps of 0.01 milli of weighted room; coarser where nodes have more than MOST_MILLI
# to lose, so that they stay below 2**20.
LOSS_STEP = FILL_UNIT * SHARE_UNIT / 100
MOST_MILLI = (1 << 20) // 100
_MANY = 256  # from so many nodes on it pays to look for those in the same state
_MOST_REMEMBERED = 1 << 17


def can_learn(mix: Mix, free_capacity: FreeCapacity) -> bool:
    """Whether there is anything to learn: GPUs, and work on them that arrived."""
    counts = mix.learnt.counts if mix.learnt is not None else mix.counts
    return bool(free_capacity.kinds) and any(each.work.gpus for each in counts)


class Fragmentation:
    """The values of a stock's nodes under what was learnt from a mix."""

    def __init__(
        self, free_capacity: FreeCapacity, mix: Mix, config: FragmentationConfig | None = None
    ) -> None:
        config = config or FragmentationConfig()
        self._free_capacity = free_capacity
        count, width = free_capacity.kind.shape
        together = [tuple(sorted(set(kinds))) for kinds in free_capacity.kinds_on]
        groups = {kinds: index for index, kinds in enumerate(sorted(set(together)))}
        fleet = Fleet(
            tuple(free_capacity.kinds),
            tuple(groups),
            width,
            WHOLE_DEVICE_MILLI * sum(map(len, free_capacity.kinds_on)),
        )
        self._groups = [groups[kinds] for kinds in together]
        self._group: Integers = np.array(self._groups, np.int64)
        # The state of each node in the form that scoring reads.
        self._rows_each = width + 1  # as many for each group
        self._row: Integers = np.zeros(count, np.int64)  # which weights count: by group and untouched devices
        self._fill = np.zeros(count)
        self._value = np.zeros(count)
        self._places = [(0, 0.0)] * count  # row and fill again, for those who read one node at a time
        self._state: Integers = np.zeros(count, np.int64)  # equal where all work loses the same
        self._states: dict[tuple[float, ...], int] = {}
        self._cache: dict[tuple[float, ...], float] = {}  # values by row, CPU, memory and fill
        kinds = tuple(map(kind_name, free_capacity.kinds))
        learnt = mix.learnt if mix.learnt is not None and mix.learnt.kinds == kinds else None
        counts = learnt.counts if learnt is not None else Tally(mix).gpu_counts()
        self._model = FragmentationModel(counts, fleet, config)
        self._tables: list[list[float]] = [table.tolist() for table in self._model.fill]
        self._fills = [0.0]  # by the number of a device's condition
        unvalued = self._take_over(range(count))
        if learnt is None:
            cpu, memory = free_capacity.totals.T
            room = self._model.room_left(self._group, cpu, memory, self._fill, free_capacity.free)
            learnt = Experience(counts, kinds, room, Tally(mix).turnover())
        self.learnt = learnt
        used = min(learnt.turnover, MUCH_TURNOVER) * config.packing_milli // MUCH_TURNOVER
        self._packing = float(used * FILL_UNIT * SHARE_UNIT)
        # A node loses at most its devices and what packing adds for them.
        most_milli = (WHOLE_DEVICE_MILLI + used) * max(width, 1)
        self._step = LOSS_STEP * -(-most_milli // MOST_MILLI)
        self._model.weigh(learnt.room, config)
        self._revalue(unvalued)

    def read(self, nodes: Iterable[int]) -> None:
        """Takes over the state of these nodes, and values them."""
        unvalued = self._take_over(nodes)
        if unvalued:
            self._revalue(unvalued)

    def cuts_of(self, request: RequestClass) -> list[list[int]]:
        """[kind, milli left]: the fill that is lost by cutting the request's share off such a device."""
        work = work_class(request.request)
        shares = [share_on(work, kind) for kind in self._free_capacity.kinds]
        level = np.arange(WHOLE_DEVICE_MILLI + 1)
        # The board decides what fits; by its MiB a slice may need a thousandth less than its share.
        return [
            (fill - fill[np.maximum(level - share, 0)]).astype(np.int64).tolist()
            for fill, share in zip(self._model.fill, shares, strict=True)
        ]

    def losses(self, among: Integers, left: Floats, keys: Integers) -> tuple[Integers, Floats]:
        """On each of these nodes: the value lost, in steps, and the value after.

        `left` is the CPU and memory that a request would leave, `keys` are those of the devices it takes.
        """
        if len(among) < _MANY:
            return self._losses(among, left, keys)
        _, first, like = np.unique(self._state.take(among), return_index=True, return_inverse=True)
        loss, after = self._losses(among[first], left[first], keys[first])
        return loss[like], after[like]

    def _losses(self, among: Integers, left: Floats, keys: Integers) -> tuple[Integers, Floats]:
        row, fill = self._row.take(among), self._fill.take(among)
        if keys.shape[1] == 1:
            key = keys[:, 0]
            row -= (key & LEVEL_MASK) == WHOLE_DEVICE_MILLI
            fill -= key >> LEVEL_BITS
        elif keys.shape[1]:
            row -= np.add.reduce((keys & LEVEL_MASK) == WHOLE_DEVICE_MILLI, axis=1)
            fill -= np.add.reduce(keys >> LEVEL_BITS, axis=1)
        after = self._model.values(row, self._group.take(among), left[:, 0], left[:, 1], fill)
        lost = self._value.take(among)
        lost -= after
        if self._packing:
            # Where work leaves, small work gathers on nodes in use, so that others run empty.
            lost += self._packing * self._free_capacity.free.take(among)
        lost /= self._step
        return np.rint(lost).astype(np.int64), after

    def losses_on(
        self, request: RequestClass, nodes: Sequence[int], keys: Sequence[Sequence[int]]
    ) -> tuple[list[int], list[float]]:
        """The same of a few nodes: what was valued before is known, the rest is valued together."""
        cache, rows = self._cache, self._free_capacity.rows
        states = []
        for node, devices in zip(nodes, keys, strict=True):
            place, fill = self._places[node]
            for key in devices:
                place -= key & LEVEL_MASK == WHOLE_DEVICE_MILLI
                fill -= key >> LEVEL_BITS
            cpu, memory, _, _ = rows[node]
            states.append((place, cpu - request.cpu_milli, memory - request.memory_mib, fill))
        if len(cache) > _MOST_REMEMBERED:
            cache.clear()
        unknown = [state for state in states if state not in cache]
        if unknown:
            row, cpu, memory, left = np.array(unknown).T
            rows_of = row.astype(np.int64)
            values = self._model.values(rows_of, rows_of // self._rows_each, cpu, memory, left)
            cache.update(zip(unknown, values.tolist(), strict=True))
        losses, after = [], []
        for node, state in zip(nodes, states, strict=True):
            after.append(cache[state])
            lost = float(self._value[node]) - cache[state]
            if self._packing:
                lost += self._packing * rows[node].free
            losses.append(round(lost / self._step))
        return losses, after

    def expect(self, request: RequestClass, node: int, keys: Iterable[int], after: float) -> None:
        """Remembers the value of a node with the request on devices of these keys, as scoring found it."""
        row, fill = self._places[node]
        for key in keys:
            row -= key & LEVEL_MASK == WHOLE_DEVICE_MILLI
            fill -= key >> LEVEL_BITS
        cpu, memory, _, _ = self._free_capacity.rows[node]
        self._remember((row, cpu - request.cpu_milli, memory - request.memory_mib, fill), after)

    def _take_over(self, nodes: Iterable[int]) -> list[int]:
        """Reads the state of these nodes; returns those whose value is not known."""
        free_capacity, fills = self._free_capacity, self._fills
        for kind, *_ in free_capacity.conditions[len(fills) :]:
            fills.append(self._tables[kind][free_capacity.levels[len(fills)]])
        unvalued = []
        for index in nodes:
            cpu, memory, free, conditions = free_capacity.rows[index]
            fill = 0.0
            for number in conditions:
                fill += fills[number]
            row = self._groups[index] * self._rows_each + free
            self._row[index] = row
            self._fill[index] = fill
            self._places[index] = row, fill
            if index in free_capacity.rows_now:
                self._state[index] = -1 - index
            else:
                state = row, cpu, memory, *conditions
                self._state[index] = self._states.setdefault(state, len(self._states))
            value = self._cache.get((row, cpu, memory, fill))
            if value is None:
                unvalued.append(index)
            else:
                self._value[index] = value
        return unvalued

    def _revalue(self, nodes: list[int]) -> None:
        among = np.array(nodes, np.int64)
        row, fill = self._row.take(among), self._fill.take(among)
        cpu, memory = self._free_capacity.totals.take(among, axis=0).T
        values = self._model.values(row, self._group.take(among), cpu, memory, fill)
        self._value[among] = values
        states = zip(row.tolist(), cpu.tolist(), memory.tolist(), fill.tolist(), strict=True)
        for state, value in zip(states, values.tolist(), strict=True):
            self._remember(state, value)

    def _remember(self, state: tuple[float, ...], value: float) -> None:
        if len(self._cache) > _MOST_REMEMBERED:
            self._cache.clear()
        self._cache[state] = value
