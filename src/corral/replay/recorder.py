"""Writes a recording while the loop runs."""

from collections.abc import Sequence

from corral.core.devices import DeviceUse, slice_milli
from corral.core.nodes import Node
from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.replay.jobs import Cluster, Job
from corral.replay.life import Life, Spot
from corral.replay.record import Fragments, JobRecord, Recording


class Recorder:
    def __init__(self, cluster: Cluster, jobs: Sequence[Job], now: int) -> None:
        names = tuple(sorted({job.queue for job in jobs} | {queue.name for queue in cluster.queues}))
        self.recording = Recording(names, now, cluster.gpu_milli, Fragments(cluster.nodes, now))
        self._numbers = {name: number for number, name in enumerate(names)}
        self._device_mib = {
            (node.name, device.id): device.memory_mib for node in cluster.nodes for device in node.devices
        }

    def want(self, now: int, job: Job, sign: int) -> None:
        """A job begins (or with -1 ceases) to wait."""
        self.recording.waiting.add(now, self._numbers[job.queue], sign * job.gpu_milli)

    def hold(self, job: Job, spot: Spot, at: int, sign: int) -> None:
        """A replica takes (or with -1 gives back) its spot."""
        self.recording.held.add(at, self._numbers[job.queue], sign * spot.gpu_milli)
        self.recording.fragments.use(at, spot.node, sign * spot.gpu_milli)

    def milli(self, node: str, uses: tuple[DeviceUse, ...]) -> int:
        """What the devices of a replica count as."""
        return sum(
            WHOLE_DEVICE_MILLI
            if use.memory_mib is None
            else slice_milli(use.memory_mib, use.compute_percent, self._device_mib[node, use.device])
            for use in uses
        )

    def count_node(self, now: int, node: Node, *, is_there: bool) -> None:
        """A node came, or went after all that it held."""
        devices = len(node.devices)
        self.recording.fragments.set_node(now, node.name, devices if is_there else 0)
        self.recording.capacity.add(now, 0, WHOLE_DEVICE_MILLI * (devices if is_there else -devices))

    def record(self, life: Life) -> None:
        self.recording.jobs.append(
            JobRecord(
                life.job,
                life.first_start,
                life.ended,
                life.waited_seconds,
                life.lost_seconds,
                life.evictions,
                life.estimate,
            )
        )

    def finish(self, now: int) -> None:
        self.recording.ended = now
        self.recording.fragments.pass_time(now)
