"""What is left on each node, as arrays: the state that placement reads and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corral.core.resources import WHOLE_DEVICE_MILLI

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DeviceModel:
    """Devices that are alike; devices of one name with different memory are two models."""

    name: str
    memory_mib: int = 0


class NodeArrays:
    """Left on node n: `cpu[n]`, `memory[n]`, `pods[n]` and `milli[n, j]` on device j (0 where there is none).

    A node has devices of one model, `models[model[n]]`; ties go to the node that comes first.
    """

    def __init__(
        self,
        models: Sequence[DeviceModel],
        cpu: Integers,
        memory: Integers,
        model: Integers,
        gpus: Integers,
        milli: Integers | None = None,
        pods: Integers | None = None,
    ) -> None:
        self.models = tuple(models)
        self.cpu = np.array(cpu, np.int64)
        self.memory = np.array(memory, np.int64)
        self.model = np.array(model, np.int64)
        self.gpus = np.array(gpus, np.int64)
        width = int(self.gpus.max(initial=1))
        empty = np.where(np.arange(width) < self.gpus[:, None], WHOLE_DEVICE_MILLI, 0)
        self.milli = np.array(empty if milli is None else milli, np.int64)
        self.pods = np.full(len(self.cpu), 1 << 30, np.int64) if pods is None else np.array(pods, np.int64)
        self.capacity_milli = int(self.gpus.sum()) * WHOLE_DEVICE_MILLI
        self._check(width)

    def __len__(self) -> int:
        return len(self.cpu)

    def _check(self, width: int) -> None:
        count = len(self.cpu)
        for name in ("memory", "model", "gpus", "pods"):
            if getattr(self, name).shape != (count,):
                raise ValueError(f"{name} has {len(getattr(self, name))} entries for {count} nodes")
        if self.milli.shape != (count, width):
            raise ValueError(f"milli has the shape {self.milli.shape}, not {(count, width)}")
        if count and not 0 <= int(self.model.min()) <= int(self.model.max()) < len(self.models):
            raise ValueError(f"model names an entry that is not among the {len(self.models)} models")
        for name in ("cpu", "memory", "pods", "milli", "gpus"):
            if (getattr(self, name) < 0).any():
                raise ValueError(f"{name} is negative on a node")
        if (self.milli > np.where(np.arange(width) < self.gpus[:, None], WHOLE_DEVICE_MILLI, 0)).any():
            raise ValueError(
                f"more is left on a device than its {WHOLE_DEVICE_MILLI} milli, or on one that is not there"
            )
