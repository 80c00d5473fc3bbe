"""How long a person waits for "would it run?": `uv run python -m benchmarks.probe`.

A zone with as many simulated nodes of eight GPUs as asked for. A question goes all the
way: the document is resolved from the database, the planner's own process is asked, and its answer is put
into words. First somebody asks who has no queue yet, then the same person with a queue and
work that runs. The best of several.
"""

import asyncio
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from benchmarks.report import parser, show
from corral.api.callers import Caller, Origin
from corral.control.planner import Planner
from corral.control.term import Term
from corral.control.timing import SystemTiming
from corral.control.zone import Zone
from corral.core.devices import Device
from corral.core.nodes import Node
from corral.engines.simulated import Program, SimulatedEngine
from corral.identity.bootstrap import super_administrator
from corral.identity.lookups import authorities_of
from corral.identity.tables import membership
from corral.inputs.secrets import SecretBox
from corral.kinds.plug import KindContext, open_kinds
from corral.kinds.submission import submit_here
from corral.queues.service import find_queue
from corral.server.kinds import KINDS
from corral.store import leadership
from corral.store.database import Database, Transaction
from corral.store.keyring import Keyring
from corral.store.leadership import Leadership
from corral.store.migrate import upgrade
from corral.training.service import SUBMISSION
from corral.training.spec import TrainingSpec
from corral.workloads.zone_choice import ChoiceReason, ZoneChoice
from corral.zones.zones import RECONCILE
from tests.apps import found_at
from tests.zones.machines import this_machine

SECOND_US = 1_000_000


def nodes_of(count: int) -> list[Node]:
    devices = tuple(Device(f"gpu-{number}", 81920, "H100") for number in range(8))
    return [Node(f"node-{number:05}", 96_000, 1_048_576, devices=devices) for number in range(count)]


def _administrator(transaction: Transaction) -> Caller:
    user_id, name = super_administrator(transaction)
    return Caller(user_id, name, "local", "", Origin("", ""), authorities_of(transaction, user_id))


class Desk:
    """A database, a zone whose loops take their turns when told to, and a person who asks."""

    def __init__(self, database: Database, zone: Zone, terms: dict[str, Term]) -> None:
        self.database, self.zone, self.terms = database, zone, terms

    @classmethod
    async def open(cls, folder: Path, nodes: int) -> "Desk":
        url = f"sqlite:///{folder / 'corral.db'}"
        await asyncio.to_thread(upgrade, url)
        await found_at(url)
        database = Database(url)
        zone_id = (await database.read(this_machine)).id
        now = int(datetime.now(UTC).timestamp() * SECOND_US)
        engine = SimulatedEngine(
            nodes_of(nodes), lambda _: Program(10**9, 0, 0), now=now, ticks_per_second=SECOND_US
        )
        box = SecretBox(Keyring.open(folder / "keyring"))
        kinds = open_kinds(KINDS, KindContext(box, folder))
        terms = {}
        for name in (RECONCILE, "schedule"):
            full = f"{name}/{zone_id}"
            held = await database.write(leadership.acquire, full, "bench", timedelta(days=1))
            assert isinstance(held, Leadership)
            terms[name] = Term(full, held, float("inf"), SystemTiming())
        return cls(database, Zone(database, zone_id, engine, kinds, make_planner=Planner), terms)

    async def turns(self, count: int) -> None:
        for _ in range(count):
            await self.zone.reconciler.turn(self.terms[RECONCILE])
            await self.zone.scheduler.turn(self.terms["schedule"])

    async def close(self) -> None:
        await self.zone.reconciler.close()
        await self.zone.scheduler.close()
        await self.database.close()


def spec(name: str, gpus: int) -> TrainingSpec:
    resources = {"cpu_milli": 1000, "memory_mib": 1024, "gpu": gpus}
    return TrainingSpec.model_validate({"name": name, "command": ["true"], "resources": resources})


def _organisation_of(transaction: Transaction, user_id: str) -> str:
    return str(
        transaction.scalar(select(membership.c.organisation_id).where(membership.c.user_id == user_id))
    )


async def measure(nodes: int, running: int, runs: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="corral-probe-") as name:
        desk = await Desk.open(Path(name), nodes)
        try:
            begun = time.perf_counter()
            await desk.turns(1)
            print(f"{nodes:,} nodes: open after {time.perf_counter() - begun:.1f} s", file=sys.stderr)
            caller = await desk.database.read(_administrator)
            without = await _row(desk, caller, nodes, runs, queue_exists=False)
            await _run(desk, caller, running)
            return [without, await _row(desk, caller, nodes, runs, queue_exists=True)]
        finally:
            await desk.close()


async def _run(desk: Desk, caller: Caller, count: int) -> None:
    """Work of the one who asks, who has a queue from now on."""
    chosen = ZoneChoice(await desk.database.read(this_machine), ChoiceReason.ONLY)
    for number in range(count):
        await desk.database.write(submit_here, caller, SUBMISSION, spec(f"w{number}", 8), chosen)
    await desk.turns(3)


async def _row(desk: Desk, caller: Caller, nodes: int, runs: int, *, queue_exists: bool) -> dict[str, Any]:
    organisation_id = await desk.database.read(_organisation_of, caller.user_id)
    found = await desk.database.read(find_queue, organisation_id, caller.user_id)
    assert (found is not None) == queue_exists
    best = float("inf")
    for _ in range(runs):
        begun = time.perf_counter()
        verdict = await desk.zone.probe(caller, spec("asked", 4))
        best = min(best, time.perf_counter() - begun)
        assert verdict.result == "fits", verdict
    return {"nodes": nodes, "queue_exists": queue_exists, "milliseconds": round(best * 1000, 1)}


def main() -> None:
    arguments = parser("probe", "How long the answer takes to whether new work would run.")
    arguments.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 10_000], metavar="COUNT")
    arguments.add_argument("--running", type=int, default=50, help="workloads that run (default: 50)")
    arguments.add_argument("--runs", type=int, default=9, help="of which the best counts (default: 9)")
    given = arguments.parse_args()
    rows = [row for nodes in given.nodes for row in asyncio.run(measure(nodes, given.running, given.runs))]
    show("probe", rows, given.json)


if __name__ == "__main__":
    main()
