"""Everything that makes one zone live: its loops, its planner, and the answers they give."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from corral.api.callers import Caller
from corral.control.loop import Loop
from corral.control.meter import Meter
from corral.control.observations import Kind
from corral.control.planner import Planner
from corral.control.prober import ZoneProber
from corral.control.reconcile import FetchContent, Listener, Reconciler
from corral.control.running import running
from corral.control.schedule import Scheduler
from corral.control.trust import OnlyOnePerson
from corral.engines.interface import Engine
from corral.store.database import Database, Transaction
from corral.usage.clock import ReadClock, clock_in
from corral.usage.samples.sampler import Samples
from corral.workloads.spec import WorkSpec
from corral.workloads.verdicts import Verdict
from corral.zones import zones


class Zone:
    """A zone that this process can drive, and does as far as it leads the loops.

    `identity` is that of what the engine reaches: leadership is not contested while the zone is another's.
    `host` is the id of the host that this process runs on.
    """

    def __init__(
        self,
        database: Database,
        zone_id: str,
        engine: Engine,
        kinds: Mapping[str, Kind],
        samples: Samples | None = None,
        listener: Listener | None = None,
        *,
        identity: str | None = None,
        host: str = "",
        fetch: FetchContent | None = None,
        only_one_person: bool = False,
        make_planner: Callable[[], Planner] = Planner,
        clock: Callable[[], float] = time.monotonic,
        read_time: ReadClock | None = None,
    ) -> None:
        self.id = zone_id
        self.engine = engine
        self._identity = identity
        self._host = host
        if only_one_person:
            kinds = {name: OnlyOnePerson(kind) for name, kind in kinds.items()}
        read_time = read_time or clock_in(engine.clock_domain, database.now)
        self.reconciler = Reconciler(
            database, zone_id, engine, kinds, listener, clock, read_time, fetch=fetch
        )
        self.scheduler = Scheduler(database, zone_id, make_planner, clock, read_time)
        self.meter = Meter(database, zone_id, engine, samples, read_time, clock)
        self.prober = ZoneProber(database, zone_id, self.scheduler)
        self.loops: tuple[Loop, ...] = ()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        may_lead = None if self._identity is None else self._is_ours
        self.loops = (
            self.reconciler.loop(may_lead, self._host),
            self.scheduler.loop(may_lead, self._host),
            self.meter.loop(may_lead, self._host),
        )
        async with running(self.loops):
            watch = asyncio.create_task(self.reconciler.watch(), name=f"watch {self.id}")
            try:
                yield
            finally:
                watch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await watch
        await self.reconciler.close()
        await self.scheduler.close()

    def _is_ours(self, transaction: Transaction) -> bool:
        return zones.is_identity(transaction, self.id, self._identity)

    async def probe(self, caller: Caller, spec: WorkSpec) -> Verdict:
        return await self.prober.probe(caller, spec)

    async def explain(self, caller: Caller, workload_id: str) -> Verdict:
        return await self.prober.explain(caller, workload_id)
