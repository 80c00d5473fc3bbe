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

from corral.scheduling.room_mix import WHOLE_GPU_MILLI, Experience, WorkClass
from corral.scheduling.room_nodes import DeviceModel, Integers, NodeArrays

Floats = NDArray[np.float64]
Counts = tuple[tuple[WorkClass, int], ...]

STEP_MILLI = 10  # the table of fills has an entry for every 10 milli
STEPS = WHOLE_GPU_MILLI // STEP_MILLI
FILL_UNIT = 64  # fills and rooms are counted in 1/64 milli
SHARE_UNIT = 1 << 20  # shares and weights are parts of this
MUCH_TURNOVER = 250  # of a thousand; from there on a cluster is in use, no longer filling up
FINE_UNIT = 1 << 10  # inside the recursion, fills are counted in 1/1024 milli


@dataclass(frozen=True, slots=True)
class RoomConfig:
    """The settings of the rule; `docs/scheduling/placement.md` says what each was tried with."""

    horizon: int = 30  # tasks that a GPU is expected to be offered before we stop counting
    scarcity_floor: float = 0.01  # share of the capacity that is added before dividing by what is left
    hope: float = 0.8  # with turnover, the worth of a node for work on several GPUs, per GPU it lacks
    fade_divisor: int = 32  # at every refresh, once many have arrived, counts lose one part in this many


@dataclass(frozen=True, slots=True)
class Shapes:
    """Groups of similar classes of work; what they need is the mean over the group's arrivals."""

    cpu: Floats
    memory: Floats
    needs_untouched: Integers
    least: Floats  # [model, shape]: the room that one such task takes
    room_per_cpu: Floats  # [model, shape]: how much fill one millicore can carry
    room_per_memory: Floats
    allowed: tuple[
        tuple[int, tuple[int, ...], float], ...
    ]  # (shape, models, share of arrivals): one per bucket

    def __len__(self) -> int:
        return len(self.cpu)


def share_counts(counts: Counts) -> list[int]:
    """Each count as parts of SHARE_UNIT."""
    total = sum(count for _, count in counts)
    return [count * SHARE_UNIT // total for _, count in counts]


def expected_fill(counts: Counts, model: DeviceModel, horizon: int) -> Floats:
    """Entry i: what is expected to be filled of i * STEP_MILLI left on such a GPU, in 1 / FILL_UNIT milli.

    Of `horizon` tasks offered one after the other, each drawn from the mix, those that fit are taken.
    """
    chance = np.zeros(STEPS + 1)
    gain = np.zeros(STEPS + 1)
    for (work, _), share in zip(counts, share_counts(counts), strict=True):
        milli = work.milli_on(model.memory_mib) if work.allows(model.name) else WHOLE_GPU_MILLI + 1
        if milli <= WHOLE_GPU_MILLI:
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


def group_shapes(counts: Counts, models: Sequence[DeviceModel]) -> Shapes:
    """Classes of about the same size and number of GPUs are one shape, whatever models they allow."""
    members: dict[tuple[object, ...], list[tuple[WorkClass, int]]] = {}
    buckets: dict[tuple[tuple[object, ...], tuple[int, ...]], int] = {}
    for work, count in counts:
        key = _shape_key(work, models)
        members.setdefault(key, []).append((work, count))
        allowed = tuple(
            index
            for index, model in enumerate(models)
            if work.allows(model.name) and work.milli_on(model.memory_mib) <= WHOLE_GPU_MILLI
        )
        buckets[key, allowed] = buckets.get((key, allowed), 0) + count
    order = {key: index for index, key in enumerate(sorted(members))}
    means = [_means(members[key], models) for key in order]
    total = sum(count for _, count in counts)
    cpu = np.array([mean[0] for mean in means])
    memory = np.array([mean[1] for mean in means])
    milli = np.array([mean[2] for mean in means]).T
    return Shapes(
        cpu=cpu,
        memory=memory,
        needs_untouched=np.array([_untouched(members[key][0][0]) for key in order], np.int64),
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


def _shape_key(work: WorkClass, models: Sequence[DeviceModel]) -> tuple[object, ...]:
    whole = _untouched(work)
    sizes = () if whole > 1 else tuple(-(-work.milli_on(model.memory_mib) // 250) for model in models)
    return (-(-work.cpu_milli // 4000), -(-work.memory_mib // 16384), work.gpus, sizes)


def _untouched(work: WorkClass) -> int:
    """How many devices must be untouched for such work."""
    return work.gpus if work.gpus > 1 and work.gpu_milli == WHOLE_GPU_MILLI else 0


def _means(
    members: list[tuple[WorkClass, int]], models: Sequence[DeviceModel]
) -> tuple[float, float, list[float]]:
    """Mean CPU, memory and, per model, milli of all its GPUs together."""
    total = sum(count for _, count in members)
    cpu = sum(work.cpu_milli * count for work, count in members) / total
    memory = sum(work.memory_mib * count for work, count in members) / total
    milli = []
    for model in models:
        sizes = ((min(work.milli_on(model.memory_mib), WHOLE_GPU_MILLI), work, n) for work, n in members)
        milli.append(sum(size * work.gpus * n for size, work, n in sizes) / total)
    return cpu, memory, milli


class Lesson:
    """One refresh: tables of fills, shapes and weights, and the value of any node under them."""

    def __init__(self, counts: Counts, nodes: NodeArrays, config: RoomConfig) -> None:
        self.shapes = group_shapes(counts, nodes.models)
        tables: dict[tuple[object, ...], Floats] = {}
        fills = []
        for model in nodes.models:
            seen = tuple((work.allows(model.name), work.milli_on(model.memory_mib)) for work, _ in counts)
            if seen not in tables:
                tables[seen] = expected_fill(counts, model, config.horizon)
            fills.append(tables[seen])
        # One entry for every milli, so that a state is looked up without dividing.
        self.fill = np.array(fills)[:, np.arange(WHOLE_GPU_MILLI + 1) // STEP_MILLI]
        self._alike = bool((self.shapes.least == self.shapes.least[:1]).all())
        self.most_gpus = int(nodes.milli.shape[1])
        self.weights = np.zeros((0, 0))

    def weigh(self, experience: Experience, nodes: NodeArrays, config: RoomConfig) -> None:
        """Sets the weights: a bucket counts by how often it arrives and by how little room it has left."""
        capacity = max(nodes.capacity_milli, 1) * FILL_UNIT
        raw = []
        for (_, _, share), left in zip(self.shapes.allowed, experience.room, strict=True):
            plenty = left / capacity + config.scarcity_floor
            # To the power of 1.5, in operations that round alike everywhere.
            raw.append(share / (plenty * math.sqrt(plenty)))
        scale = SHARE_UNIT / sum(raw) if raw else 0.0
        weights = np.zeros((len(nodes.models), self.most_gpus + 1, len(self.shapes)))
        worth = self._worth(min(experience.turnover / MUCH_TURNOVER, 1.0), config.hope)
        for (shape, allowed, _), weight in zip(self.shapes.allowed, raw, strict=True):
            for model in allowed:
                weights[model, :, shape] += np.rint(weight * scale * worth[:, shape])
        self.weights = weights.reshape(-1, len(self.shapes))

    def _worth(self, turnover: float, hope: float) -> Floats:
        """[untouched, shape]: what room counts for with so many GPUs untouched.

        Where nothing leaves, too few are of no use. Where work leaves, the fewer are lacking the sooner
        there will be enough; without that, small work would be strewn over all nodes.
        """
        untouched = np.arange(self.most_gpus + 1)[:, None]
        powers = [1.0]
        for _ in range(int(self.shapes.needs_untouched.max(initial=0))):
            powers.append(powers[-1] * hope)
        by_lack = np.array([1.0, *(turnover * power for power in powers[1:])])
        worth: Floats = by_lack[np.maximum(self.shapes.needs_untouched - untouched, 0)]
        return worth

    def rooms(self, model: Integers, cpu: Floats, memory: Floats, fill: Floats) -> Floats:
        """[node, shape]: the least of the expected fill and what CPU and memory can carry; models aside."""
        shapes = self.shapes
        room: Floats
        if self._alike:
            room = cpu[:, None] * shapes.room_per_cpu[0]
            other = memory[:, None] * shapes.room_per_memory[0]
            least = shapes.least[0]
        else:
            room = cpu[:, None] * shapes.room_per_cpu[model]
            other = memory[:, None] * shapes.room_per_memory[model]
            least = shapes.least[model]
        np.minimum(room, other, out=room)
        # What can carry less than one such task has no room for it.
        carries = room >= least
        np.minimum(room, fill[:, None], out=room)
        np.floor(room, out=room)
        room *= carries
        return room

    def values(self, row: Integers, model: Integers, cpu: Floats, memory: Floats, fill: Floats) -> Floats:
        """The value of each node, its room for every shape, weighted; `row` is that of the weights."""
        room = self.rooms(model, cpu, memory, fill)
        values: Floats = np.einsum("ns,ns->n", room, self.weights.take(row, axis=0))
        return values

    def room_left(self, nodes: NodeArrays) -> tuple[int, ...]:
        """The whole cluster's room for each bucket."""
        fill = self.fill[nodes.model[:, None], nodes.milli].sum(axis=1)
        untouched = (nodes.milli == WHOLE_GPU_MILLI).sum(axis=1)
        room = self.rooms(nodes.model, nodes.cpu.astype(float), nodes.memory.astype(float), fill)
        room *= untouched[:, None] >= self.shapes.needs_untouched
        by_model = np.zeros((len(nodes.models), len(self.shapes)))
        for model in range(len(nodes.models)):
            by_model[model] = room[nodes.model == model].sum(axis=0)
        return tuple(int(by_model[list(allowed), shape].sum()) for shape, allowed, _ in self.shapes.allowed)
