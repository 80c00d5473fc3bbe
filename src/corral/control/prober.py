"""What people ask the planner of a zone before they submit work, and while it waits."""

from datetime import UTC, datetime

from corral.api.callers import Caller
from corral.control.questions import Questions
from corral.control.schedule import Scheduler
from corral.core.ids import Kind, new_id
from corral.core.queues import Queue
from corral.queues.service import find_queue
from corral.queues.snapshot import usual_quotas
from corral.scheduling.live.live_planner import Explain, Probe
from corral.store.database import Database, Transaction
from corral.workloads import expectations, visibility
from corral.workloads.caps import left_out_for_caps
from corral.workloads.creation import Home, authorise
from corral.workloads.documents import DamagedDocumentError, Document
from corral.workloads.expectations import Waits
from corral.workloads.resolution import resolve
from corral.workloads.rows import WorkloadRow
from corral.workloads.snapshot import Times, pending_replicas, scheduled
from corral.workloads.spec import WorkSpec
from corral.workloads.verdicts import Verdict, left_out, verdict_of

NEW_QUEUE = "new"
"""How the planner knows the queue of somebody who has none yet; ids are longer."""


class ZoneProber:
    """Any process can ask: a scheduler that does not plan the zone reads what is there and answers."""

    def __init__(self, database: Database, zone_id: str, scheduler: Scheduler) -> None:
        self._database = database
        self._zone_id = zone_id
        self._scheduler = scheduler
        self.questions = Questions()

    async def probe(self, caller: Caller, spec: WorkSpec) -> Verdict:
        """What would become of new work; nothing of it is kept."""
        question, unused = await self._database.read(_question, caller, spec, self._zone_id)
        async with self.questions.turn(caller.user_id):
            result = await self._scheduler.probe(question)
        verdict = await self._database.read(verdict_of, caller, result, self._zone_id)
        return _with_details(verdict, unused)

    async def explain(self, caller: Caller, workload_id: str) -> Verdict:
        """Why a workload waits now."""
        row = (await self._database.read(visibility.find, caller, workload_id)).row
        if (detail := self._scheduler.trouble_of(workload_id)) is not None:
            return left_out(detail, self._database.now())
        waits = workload_id, row.attempt + 1
        now = int(self._database.now().timestamp())
        async with self.questions.turn(caller.user_id):
            result = await self._scheduler.probe(Explain(now, workload_id))
        verdict = await self._database.read(verdict_of, caller, result, self._zone_id, waits)
        estimate = None if result.explanation is None else result.explanation.estimate
        if estimate is not None and estimate.starts_at is not None:
            await self._note(waits, datetime.fromtimestamp(estimate.starts_at, UTC))
        unused = await self._database.read(_unused_pools, row, self._zone_id)
        return _with_details(verdict, unused)

    async def _note(self, waits: Waits, starts_at: datetime) -> None:
        """Also where it is not said: what is not compared never gets known."""
        if await self._database.read(expectations.first, waits) is None:
            await self._database.write(expectations.note, {waits: starts_at})


def _unused_pools(transaction: Transaction, row: WorkloadRow, zone_id: str) -> list[str]:
    """Nothing is said of work whose document is damaged."""
    try:
        document = row.stored.read(Document)
    except DamagedDocumentError:
        return []
    return left_out_for_caps(transaction, document, zone_id)


def _with_details(verdict: Verdict, more: list[str]) -> Verdict:
    return verdict.model_copy(update={"details": [*verdict.details, *more]})


def _question(
    transaction: Transaction, caller: Caller, spec: WorkSpec, zone_id: str
) -> tuple[Probe, list[str]]:
    """What the planner is asked, and what of it was decided before: pools that may not be used."""
    home = authorise(transaction, caller, spec)
    document = resolve(transaction, home, spec, zone_id).read(Document)
    name = new_id(Kind.WORKLOAD, transaction.now)
    queue_id, missing = _queue(transaction, home, zone_id)
    replicas = pending_replicas(name, document)
    workload = scheduled(name, queue_id, document, replicas, Times(transaction.now))
    probe = Probe(int(transaction.now.timestamp()), workload, missing)
    return probe, left_out_for_caps(transaction, document, zone_id)


def _queue(transaction: Transaction, home: Home, zone_id: str) -> tuple[str, Queue | None]:
    """The owner's queue; as it would be made if there is none yet."""
    node = home.organisation
    found = find_queue(transaction, node.id, home.owner_id)
    if found is not None:
        return found, None
    parent = find_queue(transaction, node.id)
    assert parent is not None, "every organisation has a queue"
    created, quotas = int(transaction.now.timestamp()), usual_quotas(transaction, zone_id)
    return NEW_QUEUE, Queue(NEW_QUEUE, parent, created=created, quotas=quotas)
