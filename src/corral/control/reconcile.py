"""The reconcile loop of a zone: what the engine reports is written down, what it must do is told.

A turn observes, records in one transaction, and then tells the engine what follows from the records: start,
signal, forget, discard. All of it may be repeated, so a crash at any point is repaired by the next turn.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import structlog
from sqlalchemy import update

from corral.control.loop import Done, Loop
from corral.control.observed import RECONCILE, note_observed
from corral.control.recording import Kind, Todo, note_checkpoints, record
from corral.control.term import Term
from corral.core.refusals import Unavailable
from corral.engines.interface import Cursor, Engine, Inventory, Observation
from corral.engines.reports import Message
from corral.queues.presets import ensure_presets
from corral.store.database import Database, Transaction
from corral.usage.clock import Reading, read_clock
from corral.usage.metrics.service import forget as forget_metrics
from corral.workloads.steps import TOPIC
from corral.workloads.tables import workload
from corral.zones.service import record_inventory

PERIOD_SECONDS = 10.0
WATCH_SECONDS = 30.0
MOST_MESSAGES = 1000

Listener = Callable[[Transaction, Sequence[Message]], None]

log = structlog.get_logger(__name__)


class Reconciler:
    """`watch` wakes the loop when the engine has news; run it beside the loop."""

    def __init__(
        self,
        database: Database,
        zone_id: str,
        engine: Engine,
        kinds: Mapping[str, Kind],
        listener: Listener | None = None,
    ) -> None:
        """`listener` is told, inside a transaction, what work says; some of it may come twice."""
        self._database = database
        self._zone_id = zone_id
        self._engine = engine
        self._kinds = kinds
        self._listener = listener
        self._heard: dict[str, int] = {}
        self._cursor: Cursor | None = None
        self._epoch = -1
        self._inventory_revision = -1
        self._sent: set[str] = set()
        self._loop: Loop | None = None
        self._turned = asyncio.Event()

    def loop(self) -> Loop:
        self._loop = Loop(
            RECONCILE, self._database, self.turn, PERIOD_SECONDS, zone=self._zone_id, topics=[TOPIC]
        )
        return self._loop

    async def watch(self) -> None:
        """Until it is cancelled."""
        while True:
            await self._engine.wait(self._cursor, WATCH_SECONDS)
            if self._loop is None:
                return
            self._turned.clear()
            self._loop.wake()
            # The turn moves the cursor on; until then the same news would answer again at once.
            await self._turned.wait()

    async def turn(self, term: Term) -> Done:
        if term.epoch != self._epoch:
            # Another term begins with everything that is there.
            self._epoch, self._cursor, self._inventory_revision = term.epoch, None, -1
        inventory = await self._engine.inventory()
        if inventory.revision != self._inventory_revision:
            await self._database.write(self._record_inventory, term, inventory)
            self._inventory_revision = inventory.revision
        observed = await self._engine.observe(self._cursor)
        said = await self._engine.messages(self._heard, MOST_MESSAGES)
        todo = await self._database.write(self._record, term, observed, said, read_clock())
        self._heard.update((message.run, message.number) for message in said)
        self._cursor = observed.cursor
        if observed.complete:
            self._sent.clear()
        self._turned.set()
        await self._tell(term, todo)
        for name in todo.foreign:
            log.warning("the engine runs something that Corral does not know; it is left alone", run=name)
        return Done(todo.recorded + len(todo.starts), more=len(said) == MOST_MESSAGES)

    async def _tell(self, term: Term, todo: Todo) -> None:
        term.check_deadline()
        if todo.starts:
            self._sent.update(start.run for start in todo.starts)
            await self._engine.start(todo.starts)
        for grace_seconds, runs in sorted(todo.signals.items()):
            await self._signal(runs, grace_seconds)
        if todo.forgets:
            await self._forget(todo.forgets)
        if todo.discards:
            await self._engine.discard(todo.discards)
            await self._database.write(self._note_discarded, term, todo.discards)

    async def _signal(self, runs: list[str], grace_seconds: int) -> None:
        """What does not answer hears it again in the next turn; other work does not wait for that."""
        try:
            await self._engine.signal(runs, grace_seconds)
        except Unavailable as unavailable:
            log.warning(
                "not all that must go could be told; again in the next turn", because=str(unavailable)
            )

    async def _forget(self, runs: list[str]) -> None:
        """What they said last is read first: the engine keeps it no longer than the run."""
        while said := await self._engine.messages(self._heard, MOST_MESSAGES):
            await self._database.write(self._hear, said)
            self._heard.update((message.run, message.number) for message in said)
        await self._engine.forget(runs)
        ended = set(runs)
        self._sent -= ended
        self._heard = {run: number for run, number in self._heard.items() if run not in ended}

    def _hear(self, transaction: Transaction, said: Sequence[Message]) -> None:
        note_checkpoints(transaction, said)
        if self._listener is not None:
            self._listener(transaction, said)

    def _record(
        self,
        transaction: Transaction,
        term: Term,
        observed: Observation,
        said: Sequence[Message],
        reading: Reading,
    ) -> Todo:
        term.check(transaction)
        self._hear(transaction, said)
        todo = record(transaction, self._zone_id, observed, self._kinds, reading, self._sent)
        if observed.complete:
            note_observed(transaction, self._zone_id, term.epoch)
        return todo

    def _record_inventory(self, transaction: Transaction, term: Term, inventory: Inventory) -> None:
        term.check(transaction)
        record_inventory(transaction, self._zone_id, inventory)
        ensure_presets(transaction, self._zone_id)

    def _note_discarded(self, transaction: Transaction, term: Term, workload_ids: list[str]) -> None:
        term.check(transaction)
        transaction.run(
            update(workload).where(workload.c.id.in_(workload_ids)).values(discarded_at=transaction.now)
        )
        forget_metrics(transaction, workload_ids)
