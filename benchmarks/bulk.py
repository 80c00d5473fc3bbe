"""What the server itself spends on work, without a sandbox: `uv run python -m benchmarks.bulk`.

Many workloads suspended, resumed, stopped and deleted, each in one call; and short ones from submission to
their end on the simulated engine, with the planner in this process. CPU of this process, on SQLite. The loops
take their turns when asked to, as often as they would for a burst.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.report import parser, show
from corral.api.callers import Caller, Origin
from corral.control.term import Term
from corral.control.timing import SystemTiming
from corral.control.zone import Zone
from corral.core.nodes import Node
from corral.engines.simulated import Program, SimulatedEngine
from corral.identity.bootstrap import super_administrator
from corral.identity.lookups import authorities_of
from corral.inputs.secrets import SecretBox
from corral.kinds.plug import KindContext, open_kinds
from corral.kinds.submission import submit_here
from corral.server.kinds import KINDS
from corral.store import leadership
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring
from corral.store.leadership import Leadership
from corral.store.migrate import upgrade
from corral.training.service import SUBMISSION
from corral.training.spec import TrainingSpec
from corral.workloads import service
from corral.workloads.models import Acted, Action
from corral.workloads.zone_choice import ChoiceReason, ZoneChoice
from corral.zones.zones import RECONCILE
from tests.apps import found_at
from tests.control.ground import PlannerHere
from tests.zones.machines import this_machine

SECOND_US = 1_000_000
ROOM = Node("box", 4_000_000, 16_000_000, pods=100_000)


class Clock:
    """Stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now


class Desk:
    """A database, a zone whose loops take their turns when told to, and a person who may do everything."""

    def __init__(self, database: Database, clock: Clock, zone: Zone, engine: SimulatedEngine) -> None:
        self.database, self.clock, self.zone, self.engine = database, clock, zone, engine
        self.terms: dict[str, Term] = {}
        self.caller: Caller | None = None
        self.chosen: ZoneChoice | None = None

    @classmethod
    async def open(cls, folder: Path) -> "Desk":
        url, clock = f"sqlite:///{folder / 'corral.db'}", Clock()
        await asyncio.to_thread(upgrade, url)
        await found_at(url)
        database = Database(url, clock=clock)
        here = await database.read(this_machine)
        zone_id = here.id
        now = int(clock().timestamp() * SECOND_US)
        engine = SimulatedEngine([ROOM], lambda _: Program(1, 0, 0), now=now, ticks_per_second=SECOND_US)
        box = SecretBox(Keyring.open(folder / "keyring"))
        context = KindContext(box, folder)
        kinds = open_kinds(KINDS, context)
        desk = cls(database, clock, Zone(database, zone_id, engine, kinds, make_planner=PlannerHere), engine)
        for name in (RECONCILE, "schedule"):
            full = f"{name}/{zone_id}"
            held = await database.write(leadership.acquire, full, "bench", timedelta(days=1))
            assert isinstance(held, Leadership)
            desk.terms[name] = Term(full, held, float("inf"), SystemTiming())
        desk.caller = await database.read(_administrator)
        desk.chosen = ZoneChoice(here, ChoiceReason.ONLY)
        await desk.turns(1)
        return desk

    async def submit(self, name: str) -> str:
        resources = {"cpu_milli": 100, "memory_mib": 64}
        spec = TrainingSpec.model_validate({"name": name, "command": ["true"], "resources": resources})
        assert self.caller is not None
        assert self.chosen is not None
        return (await self.database.write(submit_here, self.caller, SUBMISSION, spec, self.chosen)).id

    async def act(self, action: Action, ids: list[str]) -> Acted:
        assert self.caller is not None
        return await self.database.write(service.act, self.caller, action, ids)

    async def turns(self, count: int, seconds: int = 0) -> None:
        """Both loops take turns; then time passes."""
        for _ in range(count):
            await self.zone.reconciler.turn(self.terms[RECONCILE])
            await self.zone.scheduler.turn(self.terms["schedule"])
            self.clock.now += timedelta(seconds=seconds)
            self.engine.advance(int(self.clock.now.timestamp() * SECOND_US))

    async def close(self) -> None:
        await self.zone.scheduler.close()
        await self.database.close()


def _administrator(transaction: Transaction) -> Caller:
    user_id, name = super_administrator(transaction)
    return Caller(user_id, name, "local", "", Origin("", ""), authorities_of(transaction, user_id))


async def bulk(desk: Desk, count: int) -> list[dict[str, Any]]:
    ids = [await desk.submit(f"w{number}") for number in range(count)]
    rows = []
    actions: tuple[Action, ...] = ("suspend", "resume", "stop", "delete")
    for action in actions:
        acted: list[Acted] = []

        async def do(action: Action = action, acted: list[Acted] = acted) -> None:
            acted.append(await desk.act(action, ids))

        rows.append(await _counted(f"{action} {count:,} that wait, in one call", count, do))
        assert len(acted[0].changed) == count, acted[0]
    return rows


async def started(desk: Desk, count: int) -> list[dict[str, Any]]:
    """Stopping what runs closes nothing yet; its ends are recorded by the next turn."""
    ids = [await desk.submit(f"r{number}") for number in range(count)]
    rows = []

    async def start() -> None:
        await desk.turns(3)

    async def stop() -> None:
        assert len((await desk.act("stop", ids)).changed) == count

    async def end() -> None:
        await desk.turns(3, seconds=40)

    rows.append(await _counted(f"place and start {count:,}, in one plan", count, start))
    rows.append(await _counted(f"stop {count:,} that run, in one call", count, stop))
    rows.append(await _counted(f"record the ends of {count:,}", count, end))
    return rows


async def short(desk: Desk, count: int, at_once: int) -> dict[str, Any]:
    """A few come, a turn of each loop is taken, time passes: as when people submit one after the other."""

    async def work() -> None:
        for start in range(0, count, at_once):
            for number in range(at_once):
                await desk.submit(f"s{start + number}")
            await desk.turns(2, seconds=1)
        await desk.turns(4, seconds=1)

    return await _counted(f"short ones, {at_once} at a time, from submission to the end", count, work)


async def _counted(what: str, count: int, work: Callable[[], Awaitable[None]]) -> dict[str, Any]:
    cpu, wall = time.process_time(), time.perf_counter()
    await work()
    spent = time.process_time() - cpu
    return {
        "what": what,
        "CPU s": round(spent, 2),
        "CPU ms each": round(spent / count * 1000, 3),
        "s": round(time.perf_counter() - wall, 2),
    }


async def measure(count: int, few: int, at_once: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="corral-bulk-") as name:
        desk = await Desk.open(Path(name))
        try:
            rows = await bulk(desk, count) + await started(desk, count // 4)
            return [*rows, await short(desk, few, at_once)]
        finally:
            await desk.close()


def main() -> None:
    arguments = parser("bulk", "CPU of the server for many workloads at once, and for short ones.")
    arguments.add_argument("--count", type=int, default=2000, help="for each call (default: 2000)")
    arguments.add_argument("--short", type=int, default=200, help="short ones (default: 200)")
    arguments.add_argument("--at-once", type=int, default=5, help="short ones at a time (default: 5)")
    given = arguments.parse_args()
    rows = asyncio.run(measure(given.count, given.short, given.at_once))
    show("bulk", rows, given.json)


if __name__ == "__main__":
    main()
