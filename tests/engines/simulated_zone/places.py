"""A simulated zone with two nodes of two devices, and the means of letting time pass there."""

from sqlalchemy import insert, update

from corral.core.devices import DeviceUse
from corral.core.ids import Kind, new_id
from corral.engines.interface import Run, RunPhase, Start
from corral.engines.reports import Message, MessageKind
from corral.engines.simulated_zone.engine import SimulatedZoneEngine
from corral.engines.simulated_zone.rows import NodeState
from corral.engines.simulated_zone.tables import simulated_zone
from corral.engines.tasks import SimulatedUse, Simulation, Task
from corral.store.database import Database, Transaction
from corral.zones.tables import zone
from tests.clocks import ShiftedClock
from tests.engines.engine_suite import BOUNDS, Place, everything

DESCRIPTION = "2x2xH100-80GB"
NODES = ("h100-80gb-1", "h100-80gb-2")
WORK_SECONDS = 60
LIMIT_SECONDS = 600


async def make_zone(database: Database, name: str = "lab") -> str:
    def write(transaction: Transaction) -> str:
        zone_id = new_id(Kind.ZONE, transaction.now)
        mark = new_id(Kind.ZONE, transaction.now)
        transaction.run(
            insert(zone).values(
                id=zone_id, name=name, kind="simulated", mark=mark, created_at=transaction.now, generation=1
            )
        )
        return zone_id

    return await database.write(write)


def simulation_of(run: str) -> Simulation:
    """What a run does is in its name, as the behaviour suite has it."""
    return Simulation(
        None if run.startswith(("endless", "stubborn", "done")) else WORK_SECONDS,
        exit_code=1 if run.startswith("failing") else 0,
        usage=SimulatedUse(gpu_percent=0),
        save_seconds=LIMIT_SECONDS * 10 if run.startswith("stubborn") else 5,
    )


def task_of(run: str) -> Task:
    return Task("ada", (), run, simulation=simulation_of(run))


def start_of(
    run: str,
    simulation: Simulation | None = None,
    *,
    node: str = NODES[0],
    device: int = 0,
    mib: int | None = None,
    workload: str = "",
    attempt: int = 1,
) -> Start:
    task = Task("ada", (), run, simulation=simulation or simulation_of(run), resume=attempt > 1)
    return Start(run, workload or run, "0", attempt, node, (DeviceUse(f"gpu{device}", mib),), task)


class SimulatedZonePlace(Place):
    node = NODES[0]
    devices = ("gpu0", "gpu1")
    device_memory_mib = 80 * 1024
    grace_seconds = 30

    def __init__(self, database: Database, clock: ShiftedClock, zone_id: str) -> None:
        self.database = database
        self.clock = clock
        self.zone_id = zone_id
        self.engine: SimulatedZoneEngine = self.another()

    def another(self) -> SimulatedZoneEngine:
        """As another process opens it."""
        return SimulatedZoneEngine(self.database, self.zone_id, DESCRIPTION, bounds=BOUNDS)

    def task(self, name: str) -> Task:
        return task_of(name)

    async def reach(self, run: str, phase: RunPhase) -> Run:
        phases = list(RunPhase)
        for _ in range(LIMIT_SECONDS):
            found = (await everything(self.engine))[run]
            if phases.index(found.phase) >= phases.index(phase):
                return found
            self.clock.advance(seconds=1)
        raise AssertionError(f"{run} is {found.phase} for too long")

    async def said(self, run: str, kind: MessageKind) -> Message:
        raise AssertionError("runs of this engine say nothing")

    async def lose(self, run: str) -> None:
        await self.engine.set_node(self.node, NodeState(lost=True))

    async def forget_what_was_told(self) -> None:
        """As when the database comes from a backup that knows less than its readers."""
        statement = update(simulated_zone).where(simulated_zone.c.zone_id == self.zone_id)
        await self.database.write(lambda transaction: transaction.run(statement.values(epoch="another")))
