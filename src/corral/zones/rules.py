"""What devices and pools are, and the pure decision which pool a node is in."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class DeviceHealth(StrEnum):
    """New work is placed on healthy devices only; one that is no longer reported is `offline`."""

    HEALTHY = "healthy"
    FAULTY = "faulty"
    OFFLINE = "offline"


# How well slices are kept from each other, weakest first.
STRENGTHS = ("none", "hook", "driver", "kernel", "hardware")
# Of a slice in MiB: nothing enforces one yet. An instance of MIG is cut in hardware, and who has a whole
# device shares it with nobody.
SLICE_STRENGTH = "none"


def takes_slices(least_strength: str) -> bool:
    """Whether a pool that wants this much of slices takes those that there are."""
    return STRENGTHS.index(SLICE_STRENGTH) >= STRENGTHS.index(least_strength)


@dataclass(frozen=True, slots=True)
class PoolLabels:
    """The labels that make a node one of a pool; the pool that has none takes all that are left."""

    id: str
    labels: Mapping[str, str]


def pool_of(labels: Mapping[str, str], pools: Iterable[PoolLabels]) -> str:
    """The pool of a node: the one of those whose labels it carries that asks for most, or the older.

    Every zone has a pool without labels, so there is always one.
    """
    fitting = [pool for pool in pools if all(labels.get(key) == value for key, value in pool.labels.items())]
    return min(fitting, key=lambda pool: (-len(pool.labels), pool.id)).id
