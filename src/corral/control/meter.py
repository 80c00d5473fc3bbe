"""The meter loop of a zone: what is held is noted in the ledger, what is used is sampled."""

import time
from collections.abc import Callable

from sqlalchemy import select

from corral.control.loop import Done, Loop, MayLead
from corral.control.restart_holds import kept_runs
from corral.control.term import Term
from corral.core.runs import RunId
from corral.engines.interface import Engine, RunPhase
from corral.history import recorder
from corral.store.database import Database, Transaction
from corral.usage import ledger
from corral.usage.clock import ReadClock, Reading, read_clock
from corral.usage.samples.feed import Feed
from corral.usage.samples.sampler import Samples
from corral.zones.tables import node

PERIOD_SECONDS = 10.0
# History is recorded at most so often, and only after a change.
HISTORY_SECONDS = 60.0


class Meter:
    """`samples` None measures nothing and only keeps the ledger."""

    def __init__(
        self,
        database: Database,
        zone_id: str,
        engine: Engine,
        samples: Samples | None,
        read_time: ReadClock = read_clock,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._zone_id = zone_id
        self._engine = engine
        self._samples = samples
        self._read_time = read_time
        self._clock = clock
        self._feed = Feed()
        self._nodes: dict[str, str] = {}
        self._recorded: tuple[int, float] | None = None  # in which term, and when history was recorded

    def loop(self, may_lead: MayLead | None = None, host: str = "") -> Loop:
        return Loop(
            "meter",
            self._database,
            self.turn,
            PERIOD_SECONDS,
            zone=self._zone_id,
            may_lead=may_lead,
            host=host,
        )

    async def turn(self, term: Term) -> Done:
        # The clock first: what is there afterwards was there at that moment, too.
        reading = self._read_time()
        observed = await self._engine.observe()
        alive = [run.run for run in observed.runs if run.phase is not RunPhase.ENDED]
        written = await self._database.write(self._beat, term, reading, alive)
        if self._samples is not None:
            usage = await self._engine.usage()
            mark = self._read_time().mark
            if not usage.nodes.keys() <= self._nodes.keys():
                self._nodes = await self._database.read(self._node_ids)
            owners = {name: run.workload_id for name in usage.runs if (run := RunId.parse(name)) is not None}
            await self._samples.store(self._feed.points(usage, mark, self._nodes, owners))
        return Done(written + await self._record_history(term))

    async def _record_history(self, term: Term) -> int:
        now = self._clock()
        if self._recorded is not None:
            epoch, at = self._recorded
            if epoch == term.epoch and now - at < HISTORY_SECONDS:
                return 0
        self._recorded = term.epoch, now
        if not await self._database.read(recorder.is_due, self._zone_id):
            return 0
        return await self._database.write(self._record, term)

    def _record(self, transaction: Transaction, term: Term) -> int:
        term.check(transaction)
        return recorder.record(transaction, self._zone_id)

    def _beat(self, transaction: Transaction, term: Term, reading: Reading, alive: list[str]) -> int:
        term.check(transaction)
        return ledger.beat(
            transaction, self._zone_id, reading, [*alive, *kept_runs(transaction, self._zone_id)]
        )

    def _node_ids(self, transaction: Transaction) -> dict[str, str]:
        rows = transaction.rows(select(node.c.name, node.c.id).where(node.c.zone_id == self._zone_id))
        return {row.name: row.id for row in rows}
