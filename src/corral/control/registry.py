"""The zone registry: every zone that this process knows, with what it can do there.

A zone whose engine this process can open is driven here, as far as it leads the zone's loops. Of the others
it can still tell what would become of work, from the database; what reaches into work there goes through the
host that the zone is, or is refused with its name.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import structlog

from corral.control.loop import Done, Loop
from corral.control.observations import Kind
from corral.control.prober import ZoneProber
from corral.control.reconcile import FetchContent, Listener
from corral.control.running import running
from corral.control.schedule import Scheduler
from corral.control.term import Term
from corral.control.zone import Zone
from corral.core.refusals import Conflict, Unavailable
from corral.engines.interface import Engine, Reach
from corral.hosts.links import HostLinks
from corral.hosts.remote import RemoteReach
from corral.hosts.service import find_host
from corral.store.database import Database
from corral.usage.samples.sampler import Samples
from corral.workloads.verdicts import Prober
from corral.zones import zones
from corral.zones.rules import ZoneKind
from corral.zones.zones import Zone as ZoneRow

PERIOD_SECONDS = 30.0

# The engine of a zone, if this process is where it can be driven from.
OpenEngine = Callable[[ZoneRow], Engine | None]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Equipment:
    """What every zone that is driven here shares."""

    kinds: Mapping[str, Kind]
    samples: Samples | None = None
    listener: Listener | None = None
    only_one_person: bool = False
    fetch: FetchContent | None = None
    links: HostLinks | None = None  # to other hosts
    host: str = ""  # the id of this one


class ZoneRegistry:
    """Zones come and go with their rows; `running` keeps up with them."""

    def __init__(self, database: Database, open_engine: OpenEngine, equipment: Equipment) -> None:
        self._database = database
        self._open_engine = open_engine
        self.equipment = equipment
        self._driven: dict[str, Zone] = {}
        self._stacks: dict[str, AsyncExitStack] = {}
        self._elsewhere: dict[str, tuple[Scheduler, ZoneProber]] = {}
        self._changing = asyncio.Lock()

    @property
    def driven(self) -> tuple[Zone, ...]:
        return tuple(self._driven.values())

    def engine_here(self, zone_id: str) -> Engine | None:
        """Of a zone that this process itself can reach into."""
        zone = self._driven.get(zone_id)
        return None if zone is None else zone.engine

    async def reach(self, zone_id: str) -> Reach:
        """To reach work of the zone, through its host if that is another one."""
        if (engine := self.engine_here(zone_id)) is not None:
            return engine
        row = await self._database.read(zones.find_zone, zone_id)
        host = None
        if row is not None and row.identity is not None:
            host = await self._database.read(find_host, row.identity)
        if host is not None and self.equipment.links is not None:
            return RemoteReach(host, zone_id, self.equipment.links)
        driver = await self._database.read(zones.driver_of, zone_id)
        if driver is None:
            raise Unavailable(
                "No Corral drives the zone of this work now, so nobody can reach it.",
                "Start Corral on its machine: corral up. The work itself goes on.",
            )
        raise Conflict(
            f"This work is on {driver}, and only the Corral there can reach it.",
            f"Use the address of the Corral on {driver}.",
        )

    async def prober(self, zone_id: str) -> Prober:
        """To ask the zone's planner, for people."""
        return self._planner_of(zone_id)[1]

    async def scheduler(self, zone_id: str) -> Scheduler:
        """To ask the zone's planner, for loops."""
        return self._planner_of(zone_id)[0]

    def _planner_of(self, zone_id: str) -> tuple[Scheduler, ZoneProber]:
        if (zone := self._driven.get(zone_id)) is not None:
            return zone.scheduler, zone.prober
        if zone_id not in self._elsewhere:
            scheduler = Scheduler(self._database, zone_id)
            self._elsewhere[zone_id] = scheduler, ZoneProber(self._database, zone_id, scheduler)
        return self._elsewhere[zone_id]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Every zone that can be driven from here is, until the block ends."""
        loop = Loop(
            "zones", self._database, self._turn, PERIOD_SECONDS, topics=[zones.TOPIC], exclusive=False
        )
        try:
            await self._keep_up()
            async with running([loop]):
                yield
        finally:
            async with self._changing:
                for zone_id in [*self._driven]:
                    await self._close(zone_id)
                for scheduler, _ in self._elsewhere.values():
                    await scheduler.close()

    async def _turn(self, term: Term) -> Done:  # noqa: ARG002
        return Done(await self._keep_up())

    async def _keep_up(self) -> int:
        """Opens the zones that are new, closes those that are gone; returns how many."""
        async with self._changing:
            rows = {row.id: row for row in await self._database.read(zones.all_zones)}
            gone = [zone_id for zone_id in self._driven if zone_id not in rows]
            for zone_id in gone:
                await self._close(zone_id)
            opened = 0
            for row in rows.values():
                if row.id not in self._driven:
                    opened += await self._open(row)
            return len(gone) + opened

    async def _open(self, row: ZoneRow) -> bool:
        engine = self._open_engine(row)
        if engine is None:
            return False
        shared = self.equipment
        zone = Zone(
            self._database,
            row.id,
            engine,
            shared.kinds,
            shared.samples,
            shared.listener,
            identity=row.identity,
            host=shared.host,
            fetch=shared.fetch,
            only_one_person=shared.only_one_person and row.kind is ZoneKind.LOCAL,
        )
        stack = AsyncExitStack()
        await stack.enter_async_context(zone.running())
        self._driven[row.id], self._stacks[row.id] = zone, stack
        if (remote := self._elsewhere.pop(row.id, None)) is not None:
            await remote[0].close()
        log.info("this process can drive the zone", zone=row.name, kind=row.kind.value)
        return True

    async def _close(self, zone_id: str) -> None:
        del self._driven[zone_id]
        with contextlib.suppress(asyncio.CancelledError):
            await self._stacks.pop(zone_id).aclose()
