"""Reports of an engine become points: counters as rates, replicas added up, nothing made up."""

import pytest

from corral.engines.reports import Counters, DeviceUsage, NodeUse, Usage
from corral.usage.clock import Mark
from corral.usage.samples.feed import Feed
from corral.usage.samples.points import Metric, Point, SeriesKey
from corral.usage.samples.rates import LONGEST_US, Count, Rates, rate

SECOND = 1_000_000
AT = 1_794_733_200 * SECOND
NODES = {"this-machine": "n1"}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (Count(0, 100), Count(10 * SECOND, 600), 50),
        (Count(0, 100), Count(10 * SECOND, 100), 0),
        (Count(0, 5000), Count(10 * SECOND, 300), 30),  # began anew
        (Count(0, 5000), Count(10 * SECOND, 0), 0),
        (Count(5, 100), Count(5, 200), None),
        (Count(6, 100), Count(5, 200), None),
        (Count(0, 0), Count(LONGEST_US + 1, 200), None),
        (Count(0, 0), Count(3 * SECOND, 10), 3),
    ],
)
def test_rate_is_the_growth_in_a_second(before: Count, after: Count, expected: int | None) -> None:
    assert rate(before, after) == expected


def test_counter_that_was_not_read_for_long_begins_anew() -> None:
    rates = Rates()
    assert rates.next("a", 0, 10) is None
    rates.forget_before(5)
    assert rates.next("a", SECOND, 20) is None
    assert rates.next("a", 2 * SECOND, 25) == 5


def _node(busy: int, sent: int) -> NodeUse:
    return NodeUse(
        cpu_busy_microseconds=busy,
        cpu_total_microseconds=0,
        memory_used_bytes=7,
        memory_total_bytes=9,
        disk_used_bytes=3,
        disk_total_bytes=4,
        sent_bytes=sent,
    )


def _values(points: list[Point], kind: str, subject: str) -> dict[Metric, int]:
    return {
        point.key.metric: point.value
        for point in points
        if (point.key.kind, point.key.subject) == (kind, subject)
    }


def test_node_shows_its_use_from_the_second_report_on() -> None:
    feed = Feed()
    first = feed.points(Usage(AT, {}, {"this-machine": _node(0, 0)}), Mark("b", 0), NODES, {})
    assert _values(first, "node", "n1") == {Metric.MEMORY_BYTES: 7, Metric.DISK_BYTES: 3}
    second = feed.points(
        Usage(AT + 10 * SECOND, {}, {"this-machine": _node(15 * SECOND, 1000)}),
        Mark("b", 10 * SECOND),
        NODES,
        {},
    )
    assert _values(second, "node", "n1") == {
        Metric.MEMORY_BYTES: 7,
        Metric.DISK_BYTES: 3,
        Metric.CPU_MILLI: 1500,
        Metric.READ_BYTES_PER_SECOND: 0,
        Metric.WRITTEN_BYTES_PER_SECOND: 0,
        Metric.RECEIVED_BYTES_PER_SECOND: 0,
        Metric.SENT_BYTES_PER_SECOND: 100,
    }
    assert {point.at for point in second} == {AT // SECOND + 10}


def test_replicas_add_up_to_their_workload() -> None:
    feed = Feed()
    workloads = {"w1-1-0": "w1", "w1-1-1": "w1", "w2-1-0": "w2"}

    def report(seconds: int, *used: int) -> list[Point]:
        counters = {
            run: Counters(cpu_microseconds=cpu * SECOND, memory_bytes=100)
            for run, cpu in zip(workloads, used, strict=True)
        }
        return feed.points(
            Usage(AT + seconds * SECOND, counters), Mark("b", seconds * SECOND), NODES, workloads
        )

    report(0, 0, 0, 0)
    points = report(10, 10, 5, 20)
    assert _values(points, "replica", "w1-1-1") == {Metric.CPU_MILLI: 500, Metric.MEMORY_BYTES: 100}
    assert _values(points, "workload", "w1") == {Metric.CPU_MILLI: 1500, Metric.MEMORY_BYTES: 200}
    assert _values(points, "workload", "w2") == {Metric.CPU_MILLI: 2000, Metric.MEMORY_BYTES: 100}


def test_what_a_device_does_not_say_is_no_point() -> None:
    devices = (DeviceUsage("this-machine", "gpu-0", busy_percent=0, temperature_celsius=41),)
    points = Feed().points(Usage(AT, {}, {}, devices), Mark("b", 0), NODES, {})
    assert points == [
        Point(SeriesKey("device", "n1/gpu-0", Metric.GPU_BUSY_PERCENT), AT // SECOND, 0),
        Point(SeriesKey("device", "n1/gpu-0", Metric.TEMPERATURE_CELSIUS), AT // SECOND, 41),
    ]


def test_what_corral_does_not_know_is_left_out() -> None:
    usage = Usage(
        AT, {"other": Counters(memory_bytes=1)}, {"other": _node(0, 0)}, (DeviceUsage("other", "g"),)
    )
    assert Feed().points(usage, Mark("b", 0), NODES, {}) == []


def test_reboot_begins_new_rates() -> None:
    feed = Feed()
    feed.points(Usage(AT, {}, {"this-machine": _node(900 * SECOND, 0)}), Mark("b", 500 * SECOND), NODES, {})
    after = feed.points(
        Usage(AT + SECOND, {}, {"this-machine": _node(SECOND, 0)}), Mark("c", 501 * SECOND), NODES, {}
    )
    assert Metric.CPU_MILLI not in _values(after, "node", "n1")
