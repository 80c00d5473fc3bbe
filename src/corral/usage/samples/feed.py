"""From what an engine reports to points: counters become rates, replicas add up to workloads."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from corral.engines.reports import Counters, DeviceUsage, NodeUse, Usage
from corral.usage.clock import Mark
from corral.usage.samples.points import Metric, Point, SeriesKey, SubjectKind
from corral.usage.samples.rates import LONGEST_US, Rates

_US_PER_SECOND = 1_000_000
# A microsecond of a core in every microsecond is 1000 millicores.
_MILLI = 1000


@dataclass(slots=True)
class Feed:
    """Turns one zone's reports into points. Keep one for each engine: rates need the report before."""

    rates: Rates = field(default_factory=Rates)

    def points(
        self, usage: Usage, mark: Mark, node_ids: Mapping[str, str], workload_ids: Mapping[str, str]
    ) -> list[Point]:
        """`mark` is when the report was made; `node_ids` are by name, `workload_ids` by run.

        What is in neither is left out: it is not Corral's, or not known yet.
        """
        at = usage.at // _US_PER_SECOND
        values = dict(self._values(usage, mark, node_ids, workload_ids))
        self.rates.forget_before(mark.boottime_us - LONGEST_US)
        return [Point(key, at, value) for key, value in values.items()]

    def _values(
        self, usage: Usage, mark: Mark, node_ids: Mapping[str, str], workload_ids: Mapping[str, str]
    ) -> Iterator[tuple[SeriesKey, int]]:
        for name, node in usage.nodes.items():
            if name in node_ids:
                for metric, value in self._of_node(name, node, mark):
                    yield SeriesKey("node", node_ids[name], metric), value
        for device in usage.devices:
            if device.node in node_ids:
                subject = f"{node_ids[device.node]}/{device.device}"
                for metric, value in _of_device(device):
                    yield SeriesKey("device", subject, metric), value
        sums: Counter[SeriesKey] = Counter()
        for run, counters in usage.runs.items():
            if run in workload_ids:
                for metric, value in self._of_run(run, counters, mark):
                    yield SeriesKey("replica", run, metric), value
                    sums[SeriesKey("workload", workload_ids[run], metric)] += value
        yield from sums.items()

    def _of_node(self, name: str, node: NodeUse, mark: Mark) -> Iterator[tuple[Metric, int]]:
        yield Metric.MEMORY_BYTES, node.memory_used_bytes
        yield Metric.DISK_BYTES, node.disk_used_bytes
        yield from self._grown(
            ("node", name),
            mark,
            {
                Metric.CPU_MILLI: node.cpu_busy_microseconds,
                Metric.READ_BYTES_PER_SECOND: node.read_bytes,
                Metric.WRITTEN_BYTES_PER_SECOND: node.written_bytes,
                Metric.RECEIVED_BYTES_PER_SECOND: node.received_bytes,
                Metric.SENT_BYTES_PER_SECOND: node.sent_bytes,
            },
        )

    def _of_run(self, run: str, counters: Counters, mark: Mark) -> Iterator[tuple[Metric, int]]:
        if counters.memory_bytes is not None:
            yield Metric.MEMORY_BYTES, counters.memory_bytes
        now = {
            Metric.DISK_BYTES: counters.disk_bytes,
            Metric.GPU_MEMORY_MIB: counters.gpu_memory_mib,
            Metric.GPU_BUSY_PERCENT: counters.gpu_busy_percent,
        }
        yield from ((metric, value) for metric, value in now.items() if value is not None)
        yield from self._grown(
            ("replica", run),
            mark,
            {
                Metric.CPU_MILLI: counters.cpu_microseconds,
                Metric.READ_BYTES_PER_SECOND: counters.read_bytes,
                Metric.WRITTEN_BYTES_PER_SECOND: counters.written_bytes,
                Metric.RECEIVED_BYTES_PER_SECOND: counters.received_bytes,
                Metric.SENT_BYTES_PER_SECOND: counters.sent_bytes,
            },
        )

    def _grown(
        self, subject: tuple[SubjectKind, str], mark: Mark, counters: Mapping[Metric, int | None]
    ) -> Iterator[tuple[Metric, int]]:
        for metric, value in counters.items():
            if value is None:
                continue
            per_us = _MILLI if metric is Metric.CPU_MILLI else _US_PER_SECOND
            # A reboot begins another clock, and other counters.
            counter = (*subject, metric, mark.boot_id)
            grown = self.rates.next(counter, mark.boottime_us, value, per_us)
            if grown is not None:
                yield metric, grown


def _of_device(device: DeviceUsage) -> Iterator[tuple[Metric, int]]:
    values = {
        Metric.GPU_BUSY_PERCENT: device.busy_percent,
        Metric.GPU_MEMORY_MIB: device.memory_used_mib,
        Metric.TEMPERATURE_CELSIUS: device.temperature_celsius,
        Metric.POWER_MILLIWATTS: device.power_milliwatts,
    }
    return ((metric, value) for metric, value in values.items() if value is not None)
