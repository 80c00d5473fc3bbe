"""Where to place work so that the room for the work that usually arrives shrinks least.

`docs/scheduling/placement.md` explains the rule and what it was measured to give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from corral.scheduling.room_lesson import FILL_UNIT, SHARE_UNIT, Floats, Lesson, RoomConfig
from corral.scheduling.room_mix import LEARN_OFTEN_UNTIL, WHOLE_GPU_MILLI, Experience, Mix, WorkClass
from corral.scheduling.room_nodes import NodeArrays

Indices = NDArray[np.int64]

LEVELS = WHOLE_GPU_MILLI + 1
# A loss and the milli left travel in one number: loss * 2048 + milli, so that one minimum finds both.
LEVEL_UNIT = 2048
NO_FIT = float(1 << 50)
# Losses are compared in steps of 0.01 milli of weighted room.
LOSS_STEP = FILL_UNIT * SHARE_UNIT / 100


class Place(NamedTuple):
    """A node and the devices on it, by their position."""

    node: int
    gpus: tuple[int, ...]


class _Scores:
    """What is known about one class of work on every node, and up to which change it is known."""

    __slots__ = ("after", "allowed", "cut", "epoch", "loss", "milli", "position", "work")

    def __init__(self, work: WorkClass, nodes: NodeArrays) -> None:
        self.work = work
        self.milli = np.array([work.milli_on(model.memory_mib) for model in nodes.models], np.int64)
        self.allowed = np.array(
            [
                work.gpus == 0 or (work.allows(model.name) and int(milli) <= WHOLE_GPU_MILLI)
                for model, milli in zip(nodes.models, self.milli, strict=True)
            ]
        )
        self.loss = np.full(len(nodes), np.inf)
        self.after = np.zeros(len(nodes))
        self.cut = np.zeros(0)
        self.position = 0
        self.epoch = -1


class Room:
    """Chooses places, and keeps the scores of each class of work between choices.

    It owns `nodes` and changes them in `place` and `release`; whoever changes them otherwise calls `changed`.
    """

    def __init__(self, nodes: NodeArrays, mix: Mix, config: RoomConfig | None = None) -> None:
        self.nodes = nodes
        self.mix = mix
        self.config = config or RoomConfig()
        self._scores: dict[WorkClass, _Scores] = {}
        self._changes = 0
        self._changed_at = np.zeros(len(nodes), np.int64)
        self._slots = nodes.milli + LEVELS * nodes.model[:, None]
        self._untouched = (nodes.milli == WHOLE_GPU_MILLI).sum(axis=1)
        self._epoch = 0
        self._learn(mix.learnt)

    # Learning

    def arrive(self, work: WorkClass) -> None:
        """Counts the arrival of such work, whether or not it will find a place; learns when it is time."""
        if self.mix.note(work):
            if self.mix.arrivals > LEARN_OFTEN_UNTIL:
                self.mix.fade(self.config.fade_divisor)
            self.refresh()

    def refresh(self) -> None:
        """Learns anew from the mix and from what is left of the cluster now."""
        counts = self.mix.gpu_counts()
        if not counts:
            self.mix.learnt = None
        else:
            lesson = Lesson(counts, self.nodes, self.config)
            self.mix.learnt = Experience(counts, lesson.room_left(self.nodes))
        self._learn(self.mix.learnt)

    def _learn(self, experience: Experience | None) -> None:
        self._epoch += 1
        self._lesson: Lesson | None = None
        nodes = self.nodes
        self._fill = np.zeros(len(nodes))
        self._value = np.zeros(len(nodes))
        if experience is None:
            return
        lesson = Lesson(experience.counts, nodes, self.config)
        lesson.weigh(experience.room, nodes, self.config)
        self._lesson = lesson
        self._revalue(np.arange(len(nodes)))

    def _revalue(self, nodes: Indices) -> None:
        lesson = self._lesson
        if lesson is None:
            return
        state = self.nodes
        self._fill[nodes] = lesson.fill.take(self._slots[nodes]).sum(axis=1)
        self._value[nodes] = lesson.values(
            state.model[nodes],
            state.cpu[nodes].astype(float),
            state.memory[nodes].astype(float),
            self._fill[nodes],
            self._untouched[nodes],
        )

    # Choosing

    def choose(self, work: WorkClass) -> Place | None:
        """The place that loses least, or none where the work fits nowhere."""
        scores = self._current(work)
        node = int(scores.loss.argmin())
        if scores.loss[node] == np.inf:
            return None
        return Place(node, self.devices(work, node))

    def rank(self, work: WorkClass, nodes: Indices | Sequence[int]) -> Floats:
        """The loss on each of these nodes, in steps of 0.01 milli: less is better, infinite does not fit."""
        losses: Floats = self._current(work).loss[nodes]
        return losses

    def devices(self, work: WorkClass, node: int) -> tuple[int, ...]:
        """The devices of a node that lose least; ties go to the fullest, then to the first."""
        if work.gpus == 0:
            return ()
        keys = self._current(work).cut.take(self._slots[node])
        if work.gpus == 1:
            return (int(keys.argmin()),)
        return tuple(sorted(np.argsort(keys, kind="stable")[: work.gpus].tolist()))

    # Changing

    def place(self, work: WorkClass, place: Place) -> None:
        self._move(work, place, -1)

    def release(self, work: WorkClass, place: Place) -> None:
        self._move(work, place, 1)

    def changed(self, nodes: Sequence[int]) -> None:
        """Notes that what is left on these nodes was changed from outside."""
        touched = np.array(nodes, np.int64)
        self._changes += 1
        self._changed_at[touched] = self._changes
        self._slots[touched] = self.nodes.milli[touched] + LEVELS * self.nodes.model[touched, None]
        self._untouched[touched] = (self.nodes.milli[touched] == WHOLE_GPU_MILLI).sum(axis=1)
        self._revalue(touched)

    def _move(self, work: WorkClass, place: Place, sign: int) -> None:
        nodes, (node, gpus) = self.nodes, place
        cpu = nodes.cpu[node] + sign * work.cpu_milli
        memory = nodes.memory[node] + sign * work.memory_mib
        milli = work.milli_on(nodes.models[nodes.model[node]].memory_mib)
        left = [int(nodes.milli[node, gpu]) + sign * milli for gpu in gpus]
        if cpu < 0 or memory < 0 or nodes.pods[node] + sign < 0 or min(left, default=0) < 0:
            raise ValueError(f"node {node} has too little left for {work} on {gpus}")
        if max(left, default=0) > WHOLE_GPU_MILLI:
            raise ValueError(f"{work} was not on {gpus} of node {node}")
        nodes.cpu[node] = cpu
        nodes.memory[node] = memory
        nodes.pods[node] += sign
        for gpu, milli_left in zip(gpus, left, strict=True):
            nodes.milli[node, gpu] = milli_left
        self.changed([node])

    # Scoring

    def _current(self, work: WorkClass) -> _Scores:
        scores = self._scores.get(work)
        if scores is None:
            scores = self._scores[work] = _Scores(work, self.nodes)
        if scores.epoch != self._epoch:
            scores.epoch = self._epoch
            scores.cut = self._cuts(scores)
            self._score(scores, np.arange(len(self.nodes)))
        elif scores.position != self._changes:
            self._score(scores, np.flatnonzero(self._changed_at > scores.position))
        scores.position = self._changes
        return scores

    def _cuts(self, scores: _Scores) -> Floats:
        """For every model and milli left: what fill is lost by cutting the share off, with the milli left."""
        left = np.arange(LEVELS)
        cut = np.full((len(self.nodes.models), LEVELS), NO_FIT)
        for model in np.flatnonzero(scores.allowed):
            milli = int(scores.milli[model])
            lost = np.zeros(LEVELS - milli)
            if self._lesson is not None:
                fill = self._lesson.fill[model]
                lost = fill[milli:] - fill[: LEVELS - milli]
            cut[model, milli:] = lost * LEVEL_UNIT + left[milli:]
        return cut.ravel()

    def _score(self, scores: _Scores, among: Indices) -> None:
        work, nodes, lesson = scores.work, self.nodes, self._lesson
        scores.loss[among] = np.inf
        cpu = nodes.cpu[among] - work.cpu_milli
        memory = nodes.memory[among] - work.memory_mib
        fits = (cpu >= 0) & (memory >= 0) & (nodes.pods[among] > 0)
        if work.gpus == 0:
            lost = np.zeros(len(among))
            opened = np.zeros(len(among), np.int64)
        else:
            keys = scores.cut.take(self._slots[among])
            if work.gpus > 1:
                if work.gpus > keys.shape[1]:
                    return
                keys = np.sort(keys, axis=1)[:, : work.gpus]
                fits &= keys[:, -1] < NO_FIT
                opened = (keys % LEVEL_UNIT == WHOLE_GPU_MILLI).sum(axis=1)
                lost = np.floor(keys / LEVEL_UNIT).sum(axis=1)
            else:
                key = keys.min(axis=1)
                fits &= key < NO_FIT
                opened = (key % LEVEL_UNIT == WHOLE_GPU_MILLI).astype(np.int64)
                lost = np.floor(key / LEVEL_UNIT)
        if not fits.any():
            return
        among, cpu, memory, lost, opened = among[fits], cpu[fits], memory[fits], lost[fits], opened[fits]
        if lesson is None:
            scores.loss[among] = 0.0
            return
        after = lesson.values(
            nodes.model[among],
            cpu.astype(float),
            memory.astype(float),
            self._fill[among] - lost,
            self._untouched[among] - opened,
        )
        scores.after[among] = after
        scores.loss[among] = np.rint((self._value[among] - after) / LOSS_STEP)
