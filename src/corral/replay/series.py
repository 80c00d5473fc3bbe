"""Quantities over time: the mean of step functions in equal intervals."""

import numpy as np
from numpy.typing import NDArray

from corral.replay.record import Changes, Recording

Means = NDArray[np.float64]


def interval_means(changes: Changes, count: int, edges: Means) -> Means:
    """Of each of `count` quantities, its mean between one edge and the next."""
    times = np.frombuffer(changes.times, np.int64) if changes.times else np.zeros(0, np.int64)
    keys = np.frombuffer(changes.keys, np.int64) if changes.keys else np.zeros(0, np.int64)
    amounts = np.frombuffer(changes.amounts, np.int64) if changes.amounts else np.zeros(0, np.int64)
    means = np.zeros((count, len(edges) - 1))
    for key in range(count):
        mine = keys == key
        if mine.any():
            at = times[mine].astype(np.float64)
            integral = _integral(at, np.cumsum(amounts[mine]).astype(np.float64), edges)
            means[key] = np.diff(integral) / np.diff(edges)
    return means


def _integral(at: Means, level: Means, edges: Means) -> Means:
    """The integral from the first change up to every edge; 0 before it."""
    whole = np.concatenate([[0.0], np.cumsum(level[:-1] * np.diff(at))])
    last = np.searchsorted(at, edges, side="right") - 1
    found = np.maximum(last, 0)
    integral: Means = np.where(last < 0, 0.0, whole[found] + level[found] * (edges - at[found]))
    return integral


def capacity_means(recording: Recording, edges: Means) -> Means:
    """What there was to hold, nodes that were lost left out."""
    lost: Means = interval_means(recording.capacity, 1, edges)[0]
    means: Means = recording.capacity_milli + lost
    return means


def edges_of(recording: Recording, intervals: int) -> Means:
    """From the first arrival to the last; where all come at once, to the end.

    What happens after the last arrival is a cluster that runs empty: it says nothing about a policy.
    """
    last = max((record.job.arrives for record in recording.jobs), default=0)
    end = last if last > recording.began else max(recording.ended, recording.began + 1)
    edges: Means = np.linspace(float(recording.began), float(end), intervals + 1)
    return edges
