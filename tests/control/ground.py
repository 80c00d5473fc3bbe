"""A zone with a simulated engine under the test's own clock, whose loops take their turns when told to."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from fastapi import FastAPI

from corral.api.parts import part, provide
from corral.control.planner import Planner, PlannerGoneError, PlannerRefusedError
from corral.control.registry import ZoneRegistry
from corral.control.term import Term
from corral.control.timing import SystemTiming
from corral.control.zone import Zone
from corral.core.devices import Device
from corral.core.nodes import Node
from corral.core.refusals import Refusal
from corral.engines.interface import Start
from corral.engines.simulated import Program, SimulatedEngine
from corral.scheduling.live.live_planner import LivePlanner, Load, Question
from corral.store import leadership
from corral.store.leadership import Leadership
from corral.usage.clock import ReadClock
from corral.workloads.context import WorkloadContext
from corral.workloads.verdicts import Prober
from corral.zones.zones import RECONCILE
from tests.apps import ApiClient
from tests.campus import Campus, made
from tests.zones.machines import this_machine

SECOND = 1_000_000
MACHINE = Node(
    "box", 16000, 65536, devices=tuple(Device(f"gpu-{number}", 81920, "H100") for number in range(8))
)


class PlannerHere(Planner):
    """The live planner without a process around it, which `test_planner` has: a new one costs nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._live: LivePlanner | None = None

    @property
    def is_alive(self) -> bool:
        return self._live is not None

    async def ask(self, question: Question) -> Any:  # type: ignore[override]
        if isinstance(question, Load):
            self._live = LivePlanner()
        if self._live is None:
            raise PlannerGoneError("it was closed")
        try:
            return self._live.answer(question)
        except Refusal as refusal:
            raise PlannerRefusedError(f"{refusal.detail} {refusal.remedy}") from refusal
        except Exception as error:
            self._live = None
            raise PlannerGoneError(repr(error)) from error

    async def close(self) -> None:
        self._live = None


@dataclass
class Ground:
    """Work is submitted through the API; `settle` lets the loops do all there is to do now."""

    campus: Campus
    engine: SimulatedEngine
    zone: Zone
    programs: dict[str, Program]
    now: int  # of the engine: only the test lets it pass, however slow the machine is
    kinds: Mapping[str, Any]
    terms: dict[str, Term] = field(default_factory=dict)
    started: list[Start] = field(default_factory=list)

    async def take_over(self) -> None:
        """A new term for both loops, as after a change of leader."""
        for name in (RECONCILE, "schedule"):
            full = f"{name}/{self.zone.id}"
            held = await self.campus.database.write(leadership.acquire, full, "test", timedelta(days=1))
            assert isinstance(held, Leadership)
            self.terms[name] = Term(full, held, float("inf"), SystemTiming())

    async def restart(self, read_time: ReadClock | None = None) -> None:
        """As after a crash: everything in memory is gone, the engine goes on."""
        await self.zone.scheduler.close()
        await self.zone.reconciler.close()
        self.zone = Zone(
            self.campus.database,
            self.zone.id,
            self.engine,
            self.kinds,
            make_planner=PlannerHere,
            clock=lambda: self.now / SECOND,
            read_time=read_time,
        )
        use_zone(self.campus.app, OneZone(self.zone, self.engine))
        await self.take_over()

    async def reconcile(self) -> None:
        await self.zone.reconciler.turn(self.terms[RECONCILE])

    async def schedule(self) -> None:
        await self.zone.scheduler.turn(self.terms["schedule"])

    async def schedule_and_reconcile(self) -> None:
        """One turn of each, after one that says what is there."""
        await self.reconcile()
        await self.schedule()
        await self.reconcile()

    async def settle(self) -> None:
        for _ in range(4):
            self.engine.advance(self.now)
            await self.reconcile()
            await self.schedule()

    async def pass_time(self, seconds: int) -> None:
        await self.settle()
        for _ in range(seconds // 10 or 1):
            self.campus.clock.advance(seconds=min(10, seconds))
            self.now += min(10, seconds) * SECOND
            await self.settle()

    async def submit(self, person: ApiClient, name: str, gpus: int = 1, **more: Any) -> str:
        resources = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": {"count": gpus}}
        document = {"name": name, "command": ["python", "train.py"], "resources": resources} | more
        return str(made(await person.post("/training", document))["id"])

    async def reserve(self) -> None:
        """The first two that wait get a time that nobody may push back."""
        await self.settle()
        (pool,) = made(await self.campus.admin.get("/pools"))["items"]
        made(await self.campus.admin.patch(f"/pools/{pool['id']}", {"reservations": 2}, match="*"))

    async def state(self, workload_id: str) -> str:
        return str((await self.get(workload_id))["state"])

    async def states(self, *workload_ids: str) -> list[str]:
        return [await self.state(one) for one in workload_ids]

    async def get(self, workload_id: str) -> dict[str, Any]:
        found: dict[str, Any] = made(await self.campus.admin.get(f"/workloads/{workload_id}"))
        return found


@dataclass(frozen=True, slots=True)
class OneZone:
    """The zones of an application that a test drives by hand."""

    prober_here: Prober
    engine_here: Any

    async def reach(self, zone_id: str) -> Any:
        return self.engine_here

    async def prober(self, zone_id: str) -> Prober:
        return self.prober_here


def use_zone(app: FastAPI, zones: OneZone) -> None:
    """Routes ask this zone from now on."""
    provide(app, replace(part(app, WorkloadContext), zones=zones))


@pytest.fixture
async def ground(campus: Campus) -> AsyncIterator[Ground]:
    programs: dict[str, Program] = {}
    starts: list[Start] = []

    def program_of(start: Start) -> Program:
        assert start.task is not None
        starts.append(start)
        name = start.task.environment["CORRAL_NAME"]
        return programs.get(name, Program(100, 1, 2))

    now = int(campus.clock().timestamp() * SECOND)
    engine = SimulatedEngine([MACHINE], program_of, now=now, ticks_per_second=SECOND)
    zone_id = (await campus.database.read(this_machine)).id
    kinds = part(campus.app, ZoneRegistry).equipment.kinds
    zone = Zone(
        campus.database,
        zone_id,
        engine,
        kinds,
        make_planner=PlannerHere,
        clock=lambda: made_ground.now / SECOND,
    )
    made_ground = Ground(campus, engine, zone, programs, now, kinds, started=starts)
    use_zone(campus.app, OneZone(zone, engine))
    await made_ground.take_over()
    yield made_ground
    await made_ground.zone.reconciler.close()
    await made_ground.zone.scheduler.close()
