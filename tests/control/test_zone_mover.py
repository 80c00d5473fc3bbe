"""Queued work that left its zone to Corral goes where it starts now: once, whole, and nowhere twice."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import delete, func, insert, select, update

from corral.api.parts import part
from corral.control.registry import ZoneRegistry
from corral.control.schedule import Scheduler
from corral.control.term import Term
from corral.control.timing import SystemTiming
from corral.control.zone import Zone
from corral.control.zone_mover import ZoneMover
from corral.engines.simulated_zone.engine import SimulatedZoneEngine
from corral.kinds.plug import KindContext, open_kinds
from corral.runtimes.kind import RUNTIME
from corral.scheduling.live.live_planner import MakePlan
from corral.server.settings import Settings
from corral.store import leadership
from corral.store.database import Transaction
from corral.store.leadership import Leadership
from corral.training.kind import TRAINING
from corral.training.service import SUBMISSION
from corral.training.spec import TrainingSpec
from corral.workloads import moving
from corral.workloads.records import load
from corral.workloads.tables import allocation, claim, expectation, verdict, workload
from corral.workloads.zone_moves import MoveRule
from corral.zones.tables import zone as zone_table
from corral.zones.zones import RECONCILE, list_zones
from tests.campus import Campus, made
from tests.control.ground import PlannerHere, use_zone

WAIT = timedelta(seconds=30)
NODES = "1x4xH100-80GB"


@dataclass
class TwoZones:
    """Two simulated zones whose loops take their turns when a test says so."""

    campus: Campus
    zones: dict[str, Zone]
    terms: dict[tuple[str, str], Term] = field(default_factory=dict)
    mover: ZoneMover = field(init=False)

    async def prober(self, zone_id: str) -> Any:
        return next(zone.prober for zone in self.zones.values() if zone.id == zone_id)

    async def reach(self, zone_id: str) -> Any:
        return next(zone.engine for zone in self.zones.values() if zone.id == zone_id)

    async def scheduler(self, zone_id: str) -> Scheduler:
        return next(zone.scheduler for zone in self.zones.values() if zone.id == zone_id)

    async def lead(self, loop: str, zone: str) -> Term:
        name = f"{loop}/{zone}" if zone else loop
        held = await self.campus.database.write(leadership.acquire, name, "test/1/a", timedelta(days=1))
        assert isinstance(held, Leadership)
        return Term(name, held, float("inf"), SystemTiming())

    async def settle(self, *names: str) -> None:
        for _ in range(3):
            for name in names or self.zones:
                zone = self.zones[name]
                await zone.reconciler.turn(self.terms[RECONCILE, zone.id])
                await zone.scheduler.turn(self.terms["schedule", zone.id])

    async def abandon(self, name: str) -> None:
        """Nobody drives the zone any more."""
        table = leadership.leadership
        gone = delete(table).where(table.c.name == f"{RECONCILE}/{self.zones[name].id}")
        await self.campus.database.write(lambda transaction: transaction.run(gone))

    async def move(self) -> int:
        return (await self.mover.turn(self.terms["zone-moves", ""])).things

    async def pass_time(self, seconds: int) -> None:
        self.campus.clock.advance(seconds=seconds)
        await self.settle()

    async def submit(self, name: str, gpus: int = 4, **more: Any) -> str:
        resources = {"cpu": 1, "memory": "1Gi", "gpu": gpus}
        document = {
            "name": name,
            "command": ["true"],
            "resources": resources,
            "simulation": {"duration": "10h"},
        }
        work = made(await self.campus.admin.post("/training", document | more))
        await self.settle()
        return str(work["id"])

    async def get(self, work: str) -> dict[str, Any]:
        found: dict[str, Any] = made(await self.campus.admin.get(f"/workloads/{work}"))
        return found

    async def etag(self, work: str) -> str:
        return str((await self.campus.admin.get(f"/workloads/{work}")).headers["ETag"])

    async def stop(self, work: str) -> None:
        made(await self.campus.admin.post(f"/workloads/{work}/stop"))
        await self.settle()
        await self.pass_time(60)

    async def count(self, table: Any, *where: Any) -> int:
        query = select(func.count()).select_from(table).where(*where)
        return int(await self.campus.database.read(lambda transaction: transaction.scalar(query)))


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The application itself moves nothing."""
    return settings.model_copy(update={"zone_move_seconds": 0})


@pytest.fixture
async def two(campus: Campus) -> AsyncIterator[TwoZones]:
    kinds = part(campus.app, ZoneRegistry).equipment.kinds
    zones = {}
    for name in ("lab", "den"):
        zone_id = made(await campus.admin.post("/zones", {"name": name, "nodes": NODES}))["id"]
        engine = SimulatedZoneEngine(campus.database, zone_id, NODES)
        zones[name] = Zone(campus.database, zone_id, engine, kinds, make_planner=PlannerHere)
    two = TwoZones(campus, zones)
    opened = open_kinds((TRAINING, RUNTIME), part(campus.app, KindContext))
    two.mover = ZoneMover(campus.database, two, opened, MoveRule(WAIT))
    for zone in zones.values():
        for loop in (RECONCILE, "schedule"):
            two.terms[loop, zone.id] = await two.lead(loop, zone.id)
    two.terms["zone-moves", ""] = await two.lead("zone-moves", "")
    use_zone(campus.app, two)  # type: ignore[arg-type]
    await two.settle()
    yield two
    for zone in zones.values():
        await zone.reconciler.close()
        await zone.scheduler.close()


async def filled(two: TwoZones) -> tuple[str, str]:
    """Work that fills each zone."""
    first, second = await two.submit("first"), await two.submit("second")
    assert [(await two.get(one))["zone_name"] for one in (first, second)] == ["lab", "den"]
    return first, second


async def test_queued_work_moves_to_the_zone_that_starts_it_now(two: TwoZones) -> None:
    _, second = await filled(two)
    waits = await two.submit("waits", 2, replicas=2)
    assert (await two.get(waits))["zone_name"] == "lab"
    tag = await two.etag(waits)
    await two.stop(second)
    assert await two.move() == 1
    seen = await two.get(waits)
    assert (seen["state"], seen["zone_name"], seen["zone_reason"]) == ("queued", "den", "moved")
    assert seen["reason"]["sentence"] == "Moved from lab to den: it starts there now."
    assert (tag, await two.etag(waits), seen["generation"]) == ('"1"', '"2"', 2)
    assert seen["spec"]["zone"] is None
    for table in (verdict, claim, expectation):
        assert await two.count(table, table.c.workload_id == waits) == 0
    await two.settle()
    seen = await two.get(waits)
    assert (seen["attempt"], len(seen["nodes"])) == (1, 1)
    assert [one["state"] for one in seen["transitions"]][:3] == ["queued", "queued", "starting"]
    den = two.zones["den"].id
    assert await two.count(allocation, allocation.c.workload_id == waits, allocation.c.zone_id == den) == 2
    assert await two.count(allocation, allocation.c.workload_id == waits) == 2


async def test_work_stays_before_its_wait_has_passed_and_long_after_it_moved(two: TwoZones) -> None:
    first, second = await filled(two)
    waits = await two.submit("waits")
    made(await two.campus.admin.post(f"/workloads/{second}/stop"))
    await two.settle()
    assert await two.move() == 0
    await two.pass_time(60)
    assert await two.move() == 1
    # The zone that it went to is gone, and the one that it left becomes free.
    await two.abandon("den")
    made(await two.campus.admin.post(f"/workloads/{first}/stop"))
    await two.settle("lab")
    two.campus.clock.advance(seconds=60)
    await two.settle("lab")
    assert await two.move() == 0
    two.campus.clock.advance(seconds=300)
    await two.settle("lab")
    assert await two.move() == 1
    seen = await two.get(waits)
    assert (seen["zone_name"], seen["generation"]) == ("lab", 3)


async def test_work_that_named_its_zone_or_a_pool_of_it_stays(two: TwoZones) -> None:
    _, second = await filled(two)
    pools = made(await two.campus.admin.get("/pools"))["items"]
    pool = next(one["id"] for one in pools if one["zone_id"] == two.zones["lab"].id)
    named = await two.submit("named", zone="lab")
    pooled = await two.submit("pooled", pools=[pool])
    await two.stop(second)
    assert await two.move() == 0
    assert [(await two.get(one))["zone_name"] for one in (named, pooled)] == ["lab", "lab"]


async def test_work_that_ran_before_stays_with_its_workspace(two: TwoZones) -> None:
    first, second = await filled(two)
    made(await two.campus.admin.post(f"/workloads/{first}/suspend"))
    await two.pass_time(60)
    await two.submit("blocks", zone="lab")
    made(await two.campus.admin.post(f"/workloads/{first}/resume"))
    await two.stop(second)
    assert (await two.get(first))["state"] in {"queued", "suspended"}
    assert await two.move() == 0


async def test_work_that_room_is_made_for_stays(two: TwoZones) -> None:
    _, second = await filled(two)
    waits = await two.submit("waits")
    await two.stop(second)
    row = {"workload_id": waits, "replica": 0, "zone_id": two.zones["lab"].id, "node": "h100-80gb-1"}
    await two.campus.database.write(lambda transaction: transaction.run(insert(claim), [row]))
    assert await two.move() == 0


async def test_work_is_not_moved_to_a_zone_that_nobody_drives(two: TwoZones) -> None:
    _, second = await filled(two)
    waits = await two.submit("waits")
    await two.stop(second)
    await two.abandon("den")
    assert await two.move() == 0
    assert (await two.get(waits))["zone_name"] == "lab"


async def test_work_leaves_a_zone_that_nobody_drives(two: TwoZones) -> None:
    first, second = await filled(two)
    waits = await two.submit("waits")
    await two.stop(second)
    made(await two.campus.admin.post(f"/workloads/{first}/stop"))  # its place would be free
    await two.abandon("lab")
    assert await two.move() == 1
    assert (await two.get(waits))["zone_name"] == "den"


async def test_infeasible_work_moves_when_another_zone_can_run_it(two: TwoZones) -> None:
    first, second = await filled(two)
    wide = await two.submit("wide", 4, replicas=1, pools=[])
    den = two.zones["den"].id
    infeasible = update(workload).where(workload.c.id == wide).values(state="infeasible")
    await two.campus.database.write(lambda transaction: transaction.run(infeasible))
    await two.stop(second)
    assert (await two.get(first))["state"] != "queued"
    assert await two.move() == 1
    seen = await two.get(wide)
    assert (seen["state"], seen["zone_id"]) == ("queued", den)


async def test_plan_that_was_made_before_the_move_leaves_nothing_behind(
    two: TwoZones, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = await filled(two)
    waits = await two.submit("waits")
    await two.stop(second)
    lab = two.zones["lab"]
    planner, ask, moves = lab.scheduler.planner, lab.scheduler.planner.ask, []

    def move(transaction: Transaction) -> None:
        row = load(transaction, [waits])[waits].row
        found = {one.name: one for one in list_zones(transaction).items}
        assert moving.move(transaction, row, found["lab"], found["den"], row.stored)

    async def move_before_the_commit(question: Any) -> Any:
        answer = await ask(question)
        if isinstance(question, MakePlan) and not moves:
            moves.append([each.workload for each in answer.placements])
            await two.campus.database.write(move)
        return answer

    monkeypatch.setattr(planner, "ask", move_before_the_commit)
    made(await two.campus.admin.post(f"/workloads/{first}/stop"))
    await two.settle("lab")
    await two.pass_time(60)
    assert moves
    assert await two.count(allocation, allocation.c.workload_id == waits) <= 1
    lab_rows = allocation.c.zone_id == lab.id
    assert await two.count(allocation, allocation.c.workload_id == waits, lab_rows) == 0
    assert await two.count(claim, claim.c.workload_id == waits, claim.c.zone_id == lab.id) == 0
    await two.settle()
    seen = await two.get(waits)
    assert (seen["zone_name"], seen["attempt"]) == ("den", 1)


async def test_damaged_document_does_not_keep_others_from_moving(two: TwoZones) -> None:
    _, second = await filled(two)
    damaged, waits = await two.submit("damaged"), await two.submit("waits")
    content = json.loads('{"name": 7}')
    breaking = update(workload).where(workload.c.id == damaged).values(spec=content)
    await two.campus.database.write(lambda transaction: transaction.run(breaking))
    await two.stop(second)
    assert await two.move() == 1
    assert (await two.get(waits))["zone_name"] == "den"


async def test_zone_that_is_removed_meanwhile_is_not_moved_to(two: TwoZones) -> None:
    _, second = await filled(two)
    waits = await two.submit("waits")
    await two.stop(second)
    den = two.zones["den"]
    probe = den.scheduler.probe

    async def removed_after_the_answer(question: Any) -> Any:
        answer = await probe(question)
        gone = update(zone_table).where(zone_table.c.id == den.id).values(removed_at=two.campus.clock())
        await two.campus.database.write(lambda transaction: transaction.run(gone))
        return answer

    den.scheduler.probe = removed_after_the_answer  # type: ignore[method-assign]
    assert await two.move() == 0
    assert (await two.get(waits))["zone_name"] == "lab"


def test_real_work_with_its_home_stays_on_its_machine() -> None:
    document = {"name": "a", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}}
    assert SUBMISSION.may_move(TrainingSpec.model_validate(document))
    assert not SUBMISSION.may_move(TrainingSpec.model_validate(document | {"home": True}))
