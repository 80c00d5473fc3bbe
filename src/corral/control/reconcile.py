"""The reconcile loop of a zone: what the engine reports is written down, what it must do is told.

A turn observes, records in one transaction, and then tells the engine what follows from the records: start,
signal, forget, discard. All of it may be repeated, so a crash at any point is repaired by the next turn. What
concerns one workload fails for it alone: it rests (`troubles`), its page says why, and others go on.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial

import structlog
from sqlalchemy import update

from corral.control.departures import note_gone
from corral.control.errands import Errands
from corral.control.first_observation import note_observed
from corral.control.isolation import Apart, is_of_one
from corral.control.loop import Done, Loop, MayLead
from corral.control.observations import EngineCommands, Kind, Sent, note_checkpoints, record
from corral.control.term import Term
from corral.control.troubles import Key, Troubles
from corral.core.failures import in_words
from corral.core.nodes import Node
from corral.core.runs import RunId
from corral.core.steps import OF_RECONCILING, Step
from corral.engines.interface import Cursor, Engine, Inventory, Observation, Start
from corral.engines.reports import Message
from corral.queues.presets import ensure_presets
from corral.store.database import Database, Transaction
from corral.usage.clock import ReadClock, Reading, read_clock
from corral.usage.metrics.service import forget as forget_metrics
from corral.workloads.steps import TOPIC
from corral.workloads.tables import workload
from corral.workloads.troubles import replace_all
from corral.zones.service import record_inventory, record_nodes
from corral.zones.zones import RECONCILE

PERIOD_SECONDS = 10.0
WATCH_SECONDS = 30.0
MOST_MESSAGES = 1000
NODES_AT_ONCE = 500

Listener = Callable[[Transaction, Sequence[Message]], Mapping[str, str | None]]
"""Says of each workload that reported why not all of it was kept; None where all was."""

FetchContent = Callable[[Sequence[Start]], Awaitable[None]]
"""Brings what these starts need, such as uploaded code, to where the engine finds it."""

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
        clock: Callable[[], float] = time.monotonic,
        read_time: ReadClock = read_clock,
        *,
        fetch: FetchContent | None = None,
    ) -> None:
        """`listener` is told, inside a transaction, what work says; some of it may come twice."""
        self._database = database
        self._zone_id = zone_id
        self._engine = engine
        self._kinds = kinds
        self._listener = listener
        self._clock = clock
        self._read_time = read_time
        self._fetch = fetch
        self._heard: dict[str, int] = {}
        self._cursor: Cursor | None = None
        self._epoch = -1
        self._inventory_revision = -1
        self._sent: set[str] = set()
        self._refused_reports: dict[str, str] = {}  # by workload: why not all that it reports is kept
        self._forgets: dict[str, set[str]] = {}  # what the engine may forget and was not told in full
        self._troubles = Troubles()
        self._errands = Errands(self._troubles, clock, self._wake)
        self._shown: Mapping[Key, str] | None = None  # troubles as they are in the database
        self._loop: Loop | None = None
        self._turned = asyncio.Event()
        self.problems: tuple[str, ...] = ()  # what the engine cannot do for anybody

    def loop(self, may_lead: MayLead | None = None, host: str = "") -> Loop:
        self._loop = Loop(
            RECONCILE,
            self._database,
            self.turn,
            PERIOD_SECONDS,
            zone=self._zone_id,
            topics=[TOPIC],
            may_lead=may_lead,
            host=host,
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

    async def close(self) -> None:
        await self._errands.cancel()

    async def turn(self, term: Term) -> Done:
        if term.epoch != self._epoch:
            # Another term begins with everything that is there.
            await self._errands.cancel()
            self._epoch, self._cursor, self._inventory_revision, self._shown = term.epoch, None, -1, None
        if self._troubles.due(Step.RECORD, self._clock()):
            self._cursor = None  # what was told of it meanwhile was not written down
        inventory = await self._engine.inventory()
        if inventory.revision != self._inventory_revision:
            await self._write_inventory(term, inventory)
            self._inventory_revision = inventory.revision
        under_way = self._errands.runs_under_way
        observed = await self._engine.observe(self._cursor)
        messages = await self._engine.messages(self._heard, MOST_MESSAGES)
        todo = await self._write_down(term, observed, messages, Sent(self._sent, under_way))
        self._heard.update((message.run, message.number) for message in messages)
        self._cursor = observed.cursor
        if observed.complete:
            self._sent = set(under_way)
        self._turned.set()
        self._tell(term, todo)
        await self._errands.wait()
        await self._show_troubles(term, observed)
        for name in todo.foreign:
            log.warning("the engine runs something that Corral does not know; it is left alone", run=name)
        return Done(todo.recorded + len(todo.starts), more=len(messages) == MOST_MESSAGES)

    async def _write_down(
        self, term: Term, observed: Observation, messages: Sequence[Message], sent: Sent
    ) -> EngineCommands:
        now = self._clock()
        arguments = (term, observed, messages, self._read_time(), sent, self._troubles.resting(now))
        try:
            todo, failed, stored_reports = await self._database.write(self._record, *arguments, careful=False)
        except Exception as error:
            if not is_of_one(error):
                raise
            log.warning("not all could be written down together; one by one now", error=repr(error)[:400])
            todo, failed, stored_reports = await self._database.write(self._record, *arguments, careful=True)
        self._note_reports(stored_reports)
        for (workload_id, step), problem in failed.items():
            self._troubles.failed(workload_id, step, in_words(problem, with_names=True), now)
            log.error(
                "a step failed for one workload; it is tried again",
                workload=workload_id,
                step=step.value,
                exc_info=problem,
            )
        self._clear_troubles(todo, {*failed, *arguments[-1]})
        return todo

    def _clear_troubles(self, todo: EngineCommands, still: Collection[Key]) -> None:
        """What was tried and went well, and what nobody wants any more. Errands say how they went."""
        resting = {
            Step.START: todo.starts.keys(),
            Step.SIGNAL: todo.signals.keys(),
            Step.DISCARD: {*todo.discards, *todo.departures},
            Step.RECORD: set[str](),
        }
        for workload_id, step in self._troubles.details():
            if step in resting and workload_id not in resting[step] and (workload_id, step) not in still:
                self._troubles.over(workload_id, step)

    def _tell(self, term: Term, todo: EngineCommands) -> None:
        term.check_deadline()
        begin = self._errands.begin
        for name, starts in todo.starts.items():
            runs = [start.run for start in starts]
            if begin(name, Step.START, partial(self._start, starts), runs):
                self._sent.update(runs)
        for name, signal in todo.signals.items():
            begin(name, Step.SIGNAL, partial(self._engine.signal, signal.runs, signal.grace_seconds))
        for name, ended in todo.forgets.items():
            self._forgets.setdefault(name, set()).update(ended)
        for name in list(self._forgets):
            begin(name, Step.FORGET, partial(self._forget, name))
        for name in todo.discards:
            begin(name, Step.DISCARD, partial(self._discard, term, name))
        for user_id in todo.departures:
            begin(user_id, Step.DISCARD, partial(self._forget_person, term, user_id))

    async def _start(self, starts: Sequence[Start]) -> None:
        if self._fetch is not None:
            await self._fetch(starts)
        await self._engine.start(starts)

    async def _forget(self, workload_id: str) -> None:
        """What they said last is read first: the engine keeps it no longer than the run."""
        ended = set(self._forgets[workload_id])
        while messages := await self._engine.messages(self._heard, MOST_MESSAGES, ended):
            try:
                self._note_reports(await self._database.write(self._hear, messages))
            except Exception as error:
                if not is_of_one(error):
                    raise
                self._lose_messages(workload_id, error)
            self._heard.update((message.run, message.number) for message in messages)
        await self._engine.forget(sorted(ended))
        self._sent -= ended
        self._heard = {run: number for run, number in self._heard.items() if run not in ended}
        self._forgets[workload_id] -= ended
        if not self._forgets[workload_id]:
            del self._forgets[workload_id]
            self._troubles.over(workload_id, Step.HEAR)
            self._refused_reports.pop(workload_id, None)

    def _lose_messages(self, workload_id: str, error: Exception) -> None:
        """What it said cannot be kept, and will not be later: it is not asked for again."""
        self._troubles.failed(workload_id, Step.HEAR, in_words(error), self._clock())
        log.warning("what work said could not be kept", workload=workload_id, exc_info=error)

    async def _discard(self, term: Term, workload_id: str) -> None:
        await self._engine.discard([workload_id])
        await self._database.write(self._note_discarded, term, [workload_id])

    async def _forget_person(self, term: Term, user_id: str) -> None:
        await self._engine.forget_person(user_id)
        await self._database.write(self._note_gone, term, user_id)

    async def _show_troubles(self, term: Term, observed: Observation) -> None:
        """On the pages of the workloads that they are about."""
        self.problems = tuple(one.detail for one in observed.troubles if one.workload is None)
        now = dict(self._troubles.details())
        now |= {(workload, Step.REPORT): why for workload, why in self._refused_reports.items()}
        now |= {(one.workload, one.step): one.detail for one in observed.troubles if one.workload is not None}
        if now != self._shown:
            await self._database.write(self._note_troubles, term, now)
            self._shown = now

    def _note_troubles(self, transaction: Transaction, term: Term, troubles: Mapping[Key, str]) -> None:
        term.check(transaction)
        replace_all(transaction, self._zone_id, troubles, OF_RECONCILING)

    def _wake(self) -> None:
        if self._loop is not None:
            self._loop.wake()

    def _hear(self, transaction: Transaction, messages: Sequence[Message]) -> Mapping[str, str | None]:
        note_checkpoints(transaction, messages)
        return {} if self._listener is None else self._listener(transaction, messages)

    def _hear_one(
        self, transaction: Transaction, messages: Sequence[Message], stored_reports: dict[str, str | None]
    ) -> None:
        stored_reports |= self._hear(transaction, messages)

    def _note_reports(self, stored_reports: Mapping[str, str | None]) -> None:
        for workload_id, refused in stored_reports.items():
            if refused is None:
                self._refused_reports.pop(workload_id, None)
            else:
                self._refused_reports[workload_id] = refused

    def _record(
        self,
        transaction: Transaction,
        term: Term,
        observed: Observation,
        messages: Sequence[Message],
        reading: Reading,
        sent: Sent,
        skipped: Mapping[Key, str],
        *,
        careful: bool,
    ) -> tuple[EngineCommands, Mapping[Key, Exception], Mapping[str, str | None]]:
        term.check(transaction)
        apart = Apart(skipped, careful)
        stored_reports: dict[str, str | None] = {}
        if careful or any(step is Step.HEAR for _, step in skipped):
            for workload_id, of_workload in _by_workload(messages).items():
                apart.do(transaction, (workload_id, Step.HEAR), self._hear_one, of_workload, stored_reports)
        else:
            stored_reports |= self._hear(transaction, messages)
        todo = record(transaction, self._zone_id, observed, self._kinds, reading, sent, apart)
        if observed.complete:
            note_observed(transaction, self._zone_id, term.epoch)
        return todo, apart.failed, stored_reports

    def _note_gone(self, transaction: Transaction, term: Term, user_id: str) -> None:
        term.check(transaction)
        note_gone(transaction, self._zone_id, user_id)

    async def _write_inventory(self, term: Term, inventory: Inventory) -> None:
        """In parts: others write in between, however many nodes there are."""
        left = inventory.nodes
        while len(left) > NODES_AT_ONCE:
            part, left = left[:NODES_AT_ONCE], left[NODES_AT_ONCE:]
            await self._database.write(self._record_nodes, term, inventory, part)
        await self._database.write(self._record_inventory, term, inventory, left)

    def _record_nodes(
        self, transaction: Transaction, term: Term, inventory: Inventory, part: Sequence[Node]
    ) -> None:
        term.check(transaction)
        record_nodes(transaction, self._zone_id, inventory, part)

    def _record_inventory(
        self, transaction: Transaction, term: Term, inventory: Inventory, rest: Sequence[Node]
    ) -> None:
        term.check(transaction)
        record_inventory(transaction, self._zone_id, inventory, rest)
        ensure_presets(transaction, self._zone_id)

    def _note_discarded(self, transaction: Transaction, term: Term, workload_ids: list[str]) -> None:
        term.check(transaction)
        transaction.run(
            update(workload).where(workload.c.id.in_(workload_ids)).values(discarded_at=transaction.now)
        )
        forget_metrics(transaction, workload_ids)


def _by_workload(messages: Sequence[Message]) -> dict[str, list[Message]]:
    found: dict[str, list[Message]] = {}
    for message in messages:
        run = RunId.parse(message.run)
        found.setdefault(message.run if run is None else run.workload_id, []).append(message)
    return found
