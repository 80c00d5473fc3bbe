"""What placement learns from a mix of work: how a GPU fills, which shapes of work matter, how much.

All arrays hold whole numbers (in float64, far below 2**53), so that sums are exact in any order: the same
mix gives the same numbers on every machine, and a cached score equals a fresh one to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corral.core.devices import Device, DeviceMode
from corral.core.mixes import ClassCount, WorkClass
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.scheduling.state.mig_grid import mig_grid_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = Sequence[ClassCount]

STEP_MILLI = 10  # the table of fills has an entry for every 10 milli
STEPS = WHOLE_DEVICE_MILLI // STEP_MILLI
FILL_UNIT = 64  # fills and rooms are counted in 1/64 milli
SHARE_UNIT = 1 << 20  # shares and weights are parts of this
MUCH_TURNOVER = 250  # of a thousand; from there on a cluster is in use, no longer filling up
FINE_UNIT = 1 << 10  # inside the recursion, fills are counted in 1/1024 milli


@dataclass(frozen=True, slots=True)
class FragmentationConfig:
    """The settings of the rule; `docs/scheduling/placement.md` says what each was tried with."""

    horizon: int = 30  # tasks that a GPU is expected to be offered before we stop counting
    scarcity_floor: float = 0.01  # share of the capacity that is added before dividing by what is left
    packing_milli: int = 300  # with turnover, what a node's untouched GPU adds to the loss there


@dataclass(frozen=True, slots=True)
class Shapes:
    """Groups of similar classes of work; what they need is the mean over the group's arrivals."""

    cpu: Floats
    memory: Floats
    needs_untouched: Integers
    least: Floats  # [kind of device, shape]: the room that one such task takes
    room_per_cpu: Floats  # [kind, shape]: how much fill one millicore can carry
    room_per_memory: Floats
    # One per bucket: shape, kinds it may use, share of arrivals.
    allowed: tuple[tuple[int, tuple[int, ...], float], ...]

    def __len__(self) -> int:
        return len(self.cpu)


def kind_name(kind: Device) -> str:
    """How a kind of device is named in what was learnt."""
    return f"{kind.model}:{kind.memory_mib}:{kind.mode}"


def share_on(work: WorkClass, kind: Device) -> int:
    """The milli that one part of the work takes of such a device; more than it has where it cannot run."""
    if work.profile:
        grid = mig_grid_of(kind) if kind.mode in (DeviceMode.ANY, DeviceMode.MIG) else None
        offered = grid is not None and grid.offers(work.profile) and work.allows(kind.model)
        return grid.milli(work.profile) if offered and grid is not None else WHOLE_DEVICE_MILLI + 1
    refusal_before_search = DeviceMode.SHARED if work.is_whole else DeviceMode.WHOLE
    cut = kind.mode is DeviceMode.MIG or (
        kind.geometry is not None and kind.mode is DeviceMode.ANY and not work.is_whole
    )
    if cut or kind.mode is refusal_before_search or not work.allows(kind.model):
        return WHOLE_DEVICE_MILLI + 1
    return min(work.milli_on(kind.memory_mib), WHOLE_DEVICE_MILLI + 1)


def share_counts(counts: Counts) -> list[int]:
    """Each count as parts of SHARE_UNIT."""
    total = sum(each.count for each in counts)
    return [each.count * SHARE_UNIT // total for each in counts]


def expected_fill(counts: Counts, kind: Device, horizon: int) -> Floats:
    """Entry i: what is expected to be filled of i * STEP_MILLI left on such a GPU, in 1 / FILL_UNIT milli.

    Of `horizon` tasks offered one after the other, each drawn from the mix, those that fit are taken.
    """
    chance = np.zeros(STEPS + 1)
    gain = np.zeros(STEPS + 1)
    for each, share in zip(counts, share_counts(counts), strict=True):
        milli = share_on(each.work, kind)
        if milli <= WHOLE_DEVICE_MILLI:
            step = -(-milli // STEP_MILLI)
            chance[step] += share
            gain[step] += share * milli
    # One offer: with `chance` the GPU goes on with `step` less and the task's milli are filled.
    before, after = np.indices((STEPS + 1, STEPS + 1))
    moves = np.where(after <= before, chance[np.maximum(before - after, 0)], 0.0)
    moves[np.arange(STEPS + 1), np.arange(STEPS + 1)] += SHARE_UNIT - np.cumsum(chance)
    gains = np.cumsum(gain) * FINE_UNIT
    fill = np.zeros(STEPS + 1)
    for _ in range(horizon):
        fill = np.rint((moves @ fill + gains) / SHARE_UNIT)
    return np.rint(fill * (FILL_UNIT / FINE_UNIT))


def group_shapes(counts: Counts, kinds: Sequence[Device]) -> Shapes:
    """Classes of about the same size and number of GPUs are one shape, whatever models they allow."""
    members: dict[tuple[object, ...], list[ClassCount]] = {}
    buckets: dict[tuple[tuple[object, ...], tuple[int, ...]], int] = {}
    for each in counts:
        key = _shape_key(each.work, kinds)
        members.setdefault(key, []).append(each)
        allowed = tuple(
            index for index, kind in enumerate(kinds) if share_on(each.work, kind) <= WHOLE_DEVICE_MILLI
        )
        buckets[key, allowed] = buckets.get((key, allowed), 0) + each.count
    order = {key: index for index, key in enumerate(sorted(members))}
    means = [_means(members[key], kinds) for key in order]
    total = sum(each.count for each in counts)
    cpu = np.array([mean[0] for mean in means])
    memory = np.array([mean[1] for mean in means])
    milli = np.array([mean[2] for mean in means]).T
    return Shapes(
        cpu=cpu,
        memory=memory,
        needs_untouched=np.array([_untouched(members[key][0].work) for key in order], np.int64),
        # A hair less, so that what suffices exactly still does after the rounding of its product.
        least=milli * FILL_UNIT * (1 - 1e-9),
        room_per_cpu=milli * FILL_UNIT / np.maximum(cpu, 1.0),
        room_per_memory=milli * FILL_UNIT / np.maximum(memory, 1.0),
        allowed=tuple(
            (order[key], allowed, count / total)
            for (key, allowed), count in sorted(buckets.items())
            if allowed
        ),
    )


def bucket_count(counts: Counts, kinds: Sequence[Device]) -> int:
    """How many numbers describe the room that was left for such a mix."""
    return len(group_shapes(counts, kinds).allowed)


def _shape_key(work: WorkClass, kinds: Sequence[Device]) -> tuple[object, ...]:
    whole = _untouched(work)
    sizes = () if whole > 1 else tuple(-(-_size_on(work, kind) // 250) for kind in kinds)
    return (-(-work.cpu_milli // 4000), -(-work.memory_mib // 16384), work.gpus, sizes)


def _size_on(work: WorkClass, kind: Device) -> int:
    """How large one part of it is on such a device, whether or not it may run there."""
    return share_on(work, kind) if work.profile else work.milli_on(kind.memory_mib)


def _untouched(work: WorkClass) -> int:
    """How many devices must be untouched for such work."""
    return work.gpus if work.gpus > 1 and work.is_whole else 0


def _means(members: Sequence[ClassCount], kinds: Sequence[Device]) -> tuple[float, float, list[float]]:
    """Mean CPU, memory and, per kind of device, milli of all its GPUs together."""
    total = sum(each.count for each in members)
    cpu = sum(each.work.cpu_milli * each.count for each in members) / total
    memory = sum(each.work.memory_mib * each.count for each in members) / total
    milli = []
    for kind in kinds:
        size = WHOLE_DEVICE_MILLI
        sizes = (min(_size_on(each.work, kind), size) * each.work.gpus for each in members)
        milli.append(sum(one * each.count for one, each in zip(sizes, members, strict=True)) / total)
    return cpu, memory, milli


@dataclass(frozen=True, slots=True)
class Fleet:
    """What a lesson knows of the nodes: kinds of devices, and which of them stand together on a node.

    A node with several kinds has room for work that may use one of them.
    """

    kinds: tuple[Device, ...]
    together: tuple[tuple[int, ...], ...]
    most_gpus: int
    capacity_milli: int


class FragmentationModel:
    """One refresh: tables of fills, shapes and weights, and the value of any node under them."""

    def __init__(self, counts: Counts, fleet: Fleet, config: FragmentationConfig) -> None:
        self.fleet = fleet
        self.shapes = group_shapes(counts, fleet.kinds)
        tables: dict[tuple[int, ...], Floats] = {}
        fills = []
        for kind in fleet.kinds:
            shares = tuple(share_on(each.work, kind) for each in counts)
            if shares not in tables:
                tables[shares] = expected_fill(counts, kind, config.horizon)
            fills.append(tables[shares])
        # One entry for every milli, so that a state is looked up without dividing.
        self.fill = np.array(fills)[:, np.arange(WHOLE_DEVICE_MILLI + 1) // STEP_MILLI]
        # On a node with several kinds, work counts by its share of the first.
        first = [kinds[0] if kinds else 0 for kinds in fleet.together]
        self._least = self.shapes.least[first]
        self._per_cpu = self.shapes.room_per_cpu[first]
        self._per_memory = self.shapes.room_per_memory[first]
        self._alike = bool((self.shapes.least == self.shapes.least[:1]).all())
        self.weights = np.zeros((0, 0))

    def weigh(self, room: Sequence[int], config: FragmentationConfig) -> None:
        """Sets the weights: a bucket counts by how often it arrives and by how little room it has left."""
        fleet = self.fleet
        capacity = max(fleet.capacity_milli, 1) * FILL_UNIT
        raw = []
        for (_, _, share), left in zip(self.shapes.allowed, room, strict=True):
            plenty = left / capacity + config.scarcity_floor
            # To the power of 1.5, in operations that round alike everywhere.
            raw.append(share / (plenty * math.sqrt(plenty)))
        scale = SHARE_UNIT / sum(raw) if raw else 0.0
        weights = np.zeros((len(fleet.together), fleet.most_gpus + 1, len(self.shapes)))
        # Too few untouched devices are of no use for work on several.
        enough = np.arange(fleet.most_gpus + 1)[:, None] >= self.shapes.needs_untouched
        for (shape, allowed, _), weight in zip(self.shapes.allowed, raw, strict=True):
            for index, kinds in enumerate(fleet.together):
                if not set(allowed).isdisjoint(kinds):
                    weights[index, :, shape] += np.rint(weight * scale) * enough[:, shape]
        self.weights = weights.reshape(-1, len(self.shapes))

    def rooms(self, group: Integers, cpu: Floats, memory: Floats, fill: Floats) -> Floats:
        """[node, shape]: the least of the expected fill and what CPU and memory can carry; models aside.

        `group` is the entry of `fleet.together` that describes the node.
        """
        room: Floats
        if self._alike:
            room = cpu[:, None] * self._per_cpu[0]
            other = memory[:, None] * self._per_memory[0]
            least = self._least[0]
        else:
            room = cpu[:, None] * self._per_cpu[group]
            other = memory[:, None] * self._per_memory[group]
            least = self._least[group]
        np.minimum(room, other, out=room)
        # What can carry less than one such task has no room for it.
        carries = room >= least
        np.minimum(room, fill[:, None], out=room)
        np.floor(room, out=room)
        room *= carries
        return room

    def values(self, row: Integers, group: Integers, cpu: Floats, memory: Floats, fill: Floats) -> Floats:
        """The value of each node, its room for every shape, weighted; `row` is that of the weights."""
        room = self.rooms(group, cpu, memory, fill)
        values: Floats = np.vecdot(room, self.weights.take(row, axis=0))
        return values

    def room_left(
        self, group: Integers, cpu: Floats, memory: Floats, fill: Floats, untouched: Integers
    ) -> tuple[int, ...]:
        """The room of all these nodes for each bucket."""
        room = self.rooms(group, cpu, memory, fill)
        room *= untouched[:, None] >= self.shapes.needs_untouched
        by_group = np.array([room[group == index].sum(axis=0) for index in range(len(self.fleet.together))])
        return tuple(
            int(
                sum(
                    by_group[index, shape]
                    for index, kinds in enumerate(self.fleet.together)
                    if not set(allowed).isdisjoint(kinds)
                )
            )
            for shape, allowed, _ in self.shapes.allowed
        )
