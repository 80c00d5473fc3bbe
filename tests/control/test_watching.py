"""What happens in a zone is shown to Prometheus, and what work reports is kept as long as the work."""

from datetime import UTC, datetime, timedelta

from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from corral.api.parts import part
from corral.control.reports import keep_reports
from corral.control.term import Term
from corral.control.timing import SystemTiming
from corral.control.zone_metrics import count
from corral.core.bounds import PersonBounds
from corral.engines.reports import Message, MessageKind
from corral.store import leadership
from corral.usage.clock import microseconds_of
from corral.usage.context import UsageContext
from corral.usage.metrics.service import curves
from corral.usage.samples.points import Metric, Point, SeriesKey
from corral.usage.soundness import find_faults
from corral.usage.tables import usage_allocation
from tests.apps import ApiClient
from tests.campus import Campus, made
from tests.control.ground import Ground
from tests.usage.factories import MINUTE, Machine

AT = microseconds_of(datetime(2026, 11, 15, 9, tzinfo=UTC))

Shown = dict[tuple[str, ...], float]


async def _page(client: ApiClient) -> dict[str, Shown]:
    """What Prometheus reads: by name, the values by the labels' values, in the order of the labels' names."""
    answer = await client.get("//metrics")
    assert answer.status_code == 200, answer.text
    return {
        family.name: {
            tuple(value for _, value in sorted(sample.labels.items())): sample.value
            for sample in family.samples
        }
        for family in text_string_to_metric_families(answer.text)
    }


async def test_prometheus_sees_what_pools_have_and_what_work_waits(ground: Ground, campus: Campus) -> None:
    await ground.settle()
    running = await ground.submit(campus.admin, "first", gpus=6)
    await ground.settle()
    await ground.submit(campus.admin, "second", gpus=4)
    await ground.settle()
    campus.clock.advance(seconds=90)
    assert await ground.state(running) in ("starting", "running")
    page = await _page(campus.admin)
    ((pool, _resource, zone),) = [key for key in page["corral_pool_total"] if key[1] == "gpu_milli"]
    assert page["corral_pool_total"][pool, "gpu_milli", zone] == 8000
    assert page["corral_pool_allocated"][pool, "gpu_milli", zone] == 6000
    assert page["corral_pool_free"][pool, "gpu_milli", zone] == 2000
    assert page["corral_pool_allocated"][pool, "cpu_milli", zone] == 1000
    assert page["corral_workloads"]["queued", zone] == 1
    assert page["corral_workload_longest_wait_seconds"]["queued", zone] >= 90
    assert sum(page["corral_workloads"].values()) == 2


async def test_prometheus_sees_the_last_samples_of_nodes_and_devices_only(campus: Campus) -> None:
    samples = part(campus.app, UsageContext).samples
    now = int(campus.clock().timestamp())
    await samples.store(
        [
            Point(SeriesKey("node", "n1", Metric.CPU_MILLI), now - 10, 1),
            Point(SeriesKey("node", "n1", Metric.CPU_MILLI), now, 250),
            Point(SeriesKey("device", "n1/gpu-0", Metric.GPU_BUSY_PERCENT), now, 93),
            Point(SeriesKey("workload", "w1", Metric.CPU_MILLI), now, 7),
        ]
    )
    page = await _page(campus.admin)
    assert page["corral_node_cpu_milli"] == {("n1",): 250}
    assert page["corral_device_gpu_busy_percent"] == {("gpu-0", "n1"): 93}
    assert not [name for name in page if "workload_cpu" in name]


async def test_zone_without_work_is_counted_too(ground: Ground, campus: Campus) -> None:
    await ground.settle()
    stocks, states = await campus.database.read(count)
    assert {stock.resource: stock.allocated for stock in stocks} == {
        "gpu_milli": 0,
        "cpu_milli": 0,
        "memory_mib": 0,
    }
    assert states == ()


async def test_reports_are_kept_until_the_work_is_deleted(ground: Ground, campus: Campus) -> None:
    workload = await ground.submit(campus.admin, "reporter")
    await ground.settle()
    said = [
        Message(f"{workload}-1-0", 10, MessageKind.REPORT, AT, {"step": 1, "loss": 0.5}),
        Message(f"{workload}-1-0", 20, MessageKind.CHECKPOINT, AT, {}),
        Message("somebody-elses", 1, MessageKind.REPORT, AT, {"loss": 1.0}),
    ]
    for _ in range(2):
        await campus.database.write(keep_reports, said)
    found, _ = await campus.database.read(curves, workload, [], 10)
    assert [(one.row.name, one.row.reports) for one in found] == [("loss", 1)]
    await campus.admin.post(f"/workloads/{workload}/stop")
    await ground.pass_time(60)
    answer = await campus.admin.post(f"/workloads/{workload}/delete")
    assert answer.is_success, answer.text
    await ground.pass_time(20)
    assert await campus.database.read(curves, workload, [], 10) == ([], 0)


async def test_what_the_engine_no_longer_has_is_not_kept_alive_by_the_meter(
    ground: Ground, campus: Campus
) -> None:
    """A death that nobody recorded yet ends in the ledger when the work was last seen."""
    clock = Machine()
    await ground.restart(read_time=clock.reading)
    work = await ground.submit(campus.admin, "fragile")
    await ground.pass_time(10)
    term = await _meter_term(ground)
    clock.pass_time(3 * MINUTE)
    await ground.zone.meter.turn(term)
    ground.engine.lose("box")
    clock.pass_time(5 * MINUTE)
    await ground.zone.meter.turn(term)
    await ground.settle()
    entry = await campus.database.read(
        lambda transaction: transaction.first(
            select(usage_allocation).where(usage_allocation.c.workload_id == work)
        )
    )
    assert entry.ended_us - entry.opened_us == 3 * MINUTE
    assert await campus.database.read(find_faults) == []


async def _meter_term(ground: Ground) -> Term:
    name = f"meter/{ground.zone.id}"
    held = await ground.campus.database.write(leadership.acquire, name, "test", timedelta(days=1))
    return Term(name, held, float("inf"), SystemTiming())


async def test_page_says_that_not_all_reports_are_kept(ground: Ground) -> None:
    reconciler, database = ground.zone.reconciler, ground.campus.database
    reconciler._listener = keep_reports
    work = await ground.submit(ground.campus.admin, "talks")
    await ground.settle()
    said = [
        Message(f"{work}-1-0", number, MessageKind.REPORT, 1, {f"name{number}": 1.0}) for number in range(3)
    ]

    async def messages(*_: object) -> list[Message]:
        return said

    ground.engine.messages = messages  # type: ignore[assignment, method-assign]
    database.bounds = PersonBounds(metric_series=2)
    await ground.reconcile()
    (trouble,) = (await ground.get(work))["troubles"]
    assert trouble["step"] == "report"
    assert trouble["sentence"].startswith("Not all that it reports is kept: its owner has 2 series")
    told = made(await ground.campus.admin.get(f"/workloads/{work}/metrics"))
    assert (len(told["items"]), told["dropped"]) == (2, 1)
    said = [Message(f"{work}-1-0", 9, MessageKind.REPORT, 1, {"name1": 2.0})]
    await ground.reconcile()
    assert (await ground.get(work))["troubles"] == []
