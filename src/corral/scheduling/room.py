"""Where to place work so that the room for the work that usually arrives shrinks least.

`docs/scheduling/placement.md` explains the rule and what it was measured to give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from corral.scheduling.room_lesson import FILL_UNIT, SHARE_UNIT, Floats, Lesson, RoomConfig
from corral.scheduling.room_mix import LEARN_OFTEN_UNTIL, WHOLE_GPU_MILLI, Experience, Mix, WorkClass
from corral.scheduling.room_nodes import Integers, NodeArrays

LEVELS = WHOLE_GPU_MILLI + 1
# A loss and the milli left travel in one number, loss << 11 | milli, so that one minimum finds both.
LEVEL_BITS = 11
LEVEL_MASK = (1 << LEVEL_BITS) - 1
NO_FIT = 1 << 50
# Losses are compared in steps of 0.01 milli of weighted room.
LOSS_STEP = FILL_UNIT * SHARE_UNIT / 100


class Place(NamedTuple):
    """A node and the devices on it, by their position."""

    node: int
    gpus: tuple[int, ...]


class _Scores:
    """What is known about one class of work on every node, and up to which change it is known."""

    __slots__ = ("after", "cuts", "epoch", "loss", "milli", "position", "work")

    def __init__(self, work: WorkClass, nodes: NodeArrays) -> None:
        self.work = work
        # The share per model; where it does not fit, more than a device has.
        self.milli = tuple(
            min(work.milli_on(model.memory_mib), LEVELS) if work.allows(model.name) else LEVELS
            for model in nodes.models
        )
        self.loss = np.full(len(nodes), np.inf)
        self.after = np.zeros(len(nodes))  # the value of the node with the work on it
        self.cuts = np.zeros(0, np.int64)
        self.position = 0
        self.epoch = 0


class Room:
    """Chooses places, and keeps the scores of each class of work between choices.

    It changes `nodes` in `place` and `release`; whoever changes them otherwise calls `changed`.
    """

    def __init__(self, nodes: NodeArrays, mix: Mix, config: RoomConfig | None = None) -> None:
        self.nodes = nodes
        self.mix = mix
        self.config = config or RoomConfig()
        count = len(nodes)
        self._scores: dict[WorkClass, _Scores] = {}
        self._changes = 0
        self._changed_at = np.zeros(count, np.int64)
        # The state in the form that scoring reads. A node without pods left has less than no CPU.
        self._cpu = np.zeros(count)
        self._memory = np.zeros(count)
        self._slots: Integers = np.zeros(nodes.milli.shape, np.int64)  # places in the tables of levels
        self._row = np.zeros(count, np.int64)  # which weights count: by model and untouched devices
        self._fill = np.zeros(count)
        self._value = np.zeros(count)
        self._lesson: Lesson | None = None
        self._last: _Scores | None = None
        self._chosen: Place | None = None  # by `choose`, while nothing has changed since
        self._epoch = 0
        lesson = None
        if mix.learnt is not None:
            lesson = Lesson(mix.learnt.counts, nodes, self.config)
            lesson.weigh(mix.learnt, nodes, self.config)
        self._begin(lesson)

    # Learning

    def arrive(self, work: WorkClass) -> None:
        """Counts the arrival of such work, whether or not it will find a place; learns when it is time."""
        if self.mix.note(work):
            if self.mix.arrivals > LEARN_OFTEN_UNTIL:
                self.mix.fade(self.config.fade_divisor)
            self.refresh()

    def leave(self) -> None:
        """Counts that work left for good; what it held is given back with `release`."""
        self.mix.note_departure()

    def refresh(self) -> None:
        """Learns anew from the mix and from what is left of the cluster now."""
        counts = self.mix.gpu_counts()
        if not counts:
            self.mix.learnt = None
            self._begin(None)
            return
        lesson = Lesson(counts, self.nodes, self.config)
        self.mix.learnt = Experience(counts, lesson.room_left(self.nodes), self.mix.turnover())
        lesson.weigh(self.mix.learnt, self.nodes, self.config)
        self._begin(lesson)

    def _begin(self, lesson: Lesson | None) -> None:
        """Starts an epoch: what was scored under another lesson counts no more."""
        self._lesson = lesson
        self._chosen = None
        self._epoch += 1
        self._epoch_began = self._changes
        self._cut_tables: dict[tuple[int, ...], Integers] = {}
        self._read(np.arange(len(self.nodes)))
        # Nodes in the same state are scored once: the last of them, since ties take the first away.
        rows = np.column_stack([self._cpu, self._memory, self._row, self._slots]).astype(np.int64)
        states = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel().tolist()
        last = {state: index for index, state in enumerate(states)}
        self._like = np.array([last[state] for state in states], np.int64)

    # Choosing

    def choose(self, work: WorkClass) -> Place | None:
        """The place that loses least, or none where the work fits nowhere."""
        scores = self._current(work)
        if not len(self.nodes):
            return None
        node = int(scores.loss.argmin())
        if scores.loss[node] == np.inf:
            return None
        self._last = scores
        self._chosen = Place(node, self._devices(scores, node))
        return self._chosen

    def rank(self, work: WorkClass, nodes: Integers | Sequence[int]) -> Floats:
        """The loss on each of these nodes, in steps of 0.01 milli: less is better, infinite does not fit."""
        losses: Floats = self._current(work).loss[nodes]
        return losses

    def devices(self, work: WorkClass, node: int) -> tuple[int, ...]:
        """The devices of a node, on which the work fits, that lose least; ties to the fullest, the first."""
        return self._devices(self._current(work), node)

    def _devices(self, scores: _Scores, node: int) -> tuple[int, ...]:
        gpus = scores.work.gpus
        if gpus == 0:
            return ()
        keys = scores.cuts.take(self._slots[node])
        if gpus == 1:
            return (int(keys.argmin()),)
        return tuple(sorted(keys.argsort(kind="stable")[:gpus].tolist()))

    # Changing

    def place(self, work: WorkClass, place: Place) -> None:
        self._move(work, place, -1)

    def release(self, work: WorkClass, place: Place) -> None:
        self._move(work, place, 1)

    def changed(self, nodes: Sequence[int]) -> None:
        """Notes that what is left on these nodes was changed from outside."""
        touched = np.array(nodes, np.int64)
        self._chosen = None
        self._changes += 1
        self._changed_at[touched] = self._changes
        self._read(touched)

    def _move(self, work: WorkClass, place: Place, sign: int) -> None:
        nodes, (node, gpus) = self.nodes, place
        model = int(nodes.model[node])
        cpu = int(nodes.cpu[node]) + sign * work.cpu_milli
        memory = int(nodes.memory[node]) + sign * work.memory_mib
        pods = int(nodes.pods[node]) + sign
        milli = work.milli_on(nodes.models[model].memory_mib)
        before = [int(nodes.milli[node, gpu]) for gpu in gpus]
        after = [level + sign * milli for level in before]
        if cpu < 0 or memory < 0 or pods < 0 or min(after, default=0) < 0:
            raise ValueError(f"node {node} has too little left for {work} on {gpus}")
        if max(after, default=0) > WHOLE_GPU_MILLI:
            raise ValueError(f"{work} was not on {gpus} of node {node}")
        nodes.cpu[node] = cpu
        nodes.memory[node] = memory
        nodes.pods[node] = pods
        for gpu, level in zip(gpus, after, strict=True):
            nodes.milli[node, gpu] = level
        lesson, scores = self._lesson, self._last
        if lesson is None or scores is None or place is not self._chosen or scores.work != work:
            self.changed([node])
            return
        # What was chosen last is placed, nothing has changed since: scoring has already worked out the rest.
        fill = lesson.fill[model]
        self._cpu[node] = cpu if pods else -1
        self._memory[node] = memory
        self._fill[node] -= sum(float(fill[old] - fill[new]) for old, new in zip(before, after, strict=True))
        self._value[node] = scores.after[node]
        for gpu, level in zip(gpus, after, strict=True):
            self._slots[node, gpu] = level + LEVELS * model
        self._row[node] -= before.count(WHOLE_GPU_MILLI)
        self._changes += 1
        self._changed_at[node] = self._changes
        self._chosen = None

    def _read(self, among: Integers) -> None:
        """Takes over the state of these nodes, and values them."""
        nodes, lesson = self.nodes, self._lesson
        milli, model = nodes.milli[among], nodes.model[among]
        self._cpu[among] = np.where(nodes.pods[among] > 0, nodes.cpu[among], -1)
        self._memory[among] = nodes.memory[among]
        self._slots[among] = milli + LEVELS * model[:, None]
        self._row[among] = model * (milli.shape[1] + 1) + (milli == WHOLE_GPU_MILLI).sum(axis=1)
        if lesson is not None:
            cpu, memory, row = self._cpu[among], self._memory[among], self._row[among]
            fill = lesson.fill.take(self._slots[among]).sum(axis=1)
            self._fill[among] = fill
            self._value[among] = lesson.values(row, model, cpu, memory, fill)

    # Scoring

    def _current(self, work: WorkClass) -> _Scores:
        """The scores of a class, brought up to date."""
        scores = self._scores.get(work)
        if scores is None:
            scores = self._scores[work] = _Scores(work, self.nodes)
        if scores.epoch != self._epoch:
            scores.epoch = self._epoch
            self._score_all(scores)
        elif scores.position != self._changes:
            self._score(scores, (self._changed_at > scores.position).nonzero()[0])
        scores.position = self._changes
        return scores

    def _score_all(self, scores: _Scores) -> None:
        scores.cuts = self._cuts(scores.milli)
        like, everywhere = self._like, np.arange(len(self.nodes))
        same = self._changed_at <= self._epoch_began
        follows = same & same[like] & (like != everywhere)
        self._score(scores, np.flatnonzero(~follows))
        scores.loss[follows] = scores.loss[like[follows]]
        scores.after[follows] = scores.after[like[follows]]

    def _cuts(self, milli: tuple[int, ...]) -> Integers:
        """For every model and level of a device: the fill lost by cutting the share off, and the level."""
        known = self._cut_tables.get(milli)
        if known is None:
            cuts = np.full((len(milli), LEVELS), NO_FIT, np.int64)
            for model, share in enumerate(milli):
                if share < LEVELS:
                    cuts[model, share:] = np.arange(share, LEVELS)
                    if self._lesson is not None:
                        fill = self._lesson.fill[model]
                        lost = (fill[share:] - fill[: LEVELS - share]).astype(np.int64)
                        cuts[model, share:] += lost << LEVEL_BITS
            known = self._cut_tables[milli] = cuts.ravel()
        return known

    def _score(self, scores: _Scores, among: Integers) -> None:
        work, lesson = scores.work, self._lesson
        scores.loss[among] = np.inf
        cpu = self._cpu.take(among) - work.cpu_milli
        memory = self._memory.take(among) - work.memory_mib
        fits = (cpu >= 0) & (memory >= 0)
        keys: Integers | None = None
        if work.gpus > self._slots.shape[1]:
            return
        if work.gpus:
            keys = scores.cuts.take(self._slots.take(among, axis=0))
            if work.gpus > 1:
                keys.sort(axis=1)
                keys = keys[:, : work.gpus]
            else:
                keys = keys.min(axis=1, keepdims=True)
            fits &= keys[:, -1] < NO_FIT
            keys = keys[fits]
        among = among[fits]
        if not len(among):
            return
        if lesson is None:
            scores.loss[among] = 0.0
            return
        row, fill = self._row.take(among), self._fill.take(among)
        if keys is not None:
            row -= ((keys & LEVEL_MASK) == WHOLE_GPU_MILLI).sum(axis=1)
            fill -= (keys >> LEVEL_BITS).sum(axis=1)
        after = lesson.values(row, self.nodes.model.take(among), cpu[fits], memory[fits], fill)
        scores.after[among] = after
        scores.loss[among] = np.rint((self._value.take(among) - after) / LOSS_STEP)
