"""The loop that gives queued work another zone where it would start now.

It asks the planners of the zones as a probe does, a few questions in each turn, and lets the rule of
`workloads.zone_moves` decide. The move itself is one guarded update: work that was given a place meanwhile
stays where it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

import structlog
from pydantic import ValidationError

from corral.control.loop import Done, Loop
from corral.control.schedule import Scheduler
from corral.control.term import Term
from corral.core.refusals import Invalid, Refusal
from corral.kinds.plug import OpenKind
from corral.kinds.submission import document_in
from corral.scheduling.live.live_planner import Explain, Probe
from corral.store.database import Database, Transaction
from corral.workloads import moving
from corral.workloads.documents import Document, StoredDocument
from corral.workloads.rows import WorkloadRow
from corral.workloads.snapshot import Times, pending_replicas, scheduled
from corral.workloads.zone_choice import ChoiceReason, ZoneChoice
from corral.workloads.zone_moves import MoveRule, Outlook, starts_now
from corral.zones import zones
from corral.zones.models import Zone
from corral.zones.rules import ZoneKind, ZoneState

PERIOD_SECONDS = 10.0
# Planners plan for everybody: looking for a better zone takes little of their time.
MOST_QUESTIONS = 8
MOST_READ = 200

log = structlog.get_logger(__name__)


class Schedulers(Protocol):
    async def scheduler(self, zone_id: str) -> Scheduler: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload, the zone that it is in, and those that it could move to."""

    row: WorkloadRow
    origin: Zone
    targets: Sequence[Zone]


class ZoneMover:
    def __init__(
        self, database: Database, zones_here: Schedulers, kinds: Mapping[str, OpenKind], rule: MoveRule
    ) -> None:
        self._database = database
        self._zones = zones_here
        self._kinds = kinds
        self._rule = rule
        self._after = ""  # the last workload that was considered; the next turn goes on behind it

    def loop(self) -> Loop:
        return Loop("zone-moves", self._database, self.turn, min(PERIOD_SECONDS, self._period()))

    def _period(self) -> float:
        return max(1.0, self._rule.wait.total_seconds())

    async def turn(self, term: Term) -> Done:
        candidates = await self._database.read(self._candidates)
        moved = asked = 0
        for candidate in candidates:
            if asked >= MOST_QUESTIONS:
                return Done(moved, more=moved > 0)
            self._after = candidate.row.id
            if not await self._database.read(moving.is_free_to_move, candidate.row):
                continue
            asked += 1
            moved += await self._consider(term, candidate)
        if len(candidates) < MOST_READ:
            self._after = ""
        return Done(moved, more=moved > 0)

    def _candidates(self, transaction: Transaction) -> list[Candidate]:
        """Simulated work moves between simulated zones, all other work between real ones.

        Zones that nobody drives are left, and never moved to.
        """
        found = zones.list_zones(transaction).items
        targets = {
            one.id: [
                each
                for each in found
                if each.id != one.id
                and each.state is ZoneState.READY
                and (each.kind is ZoneKind.SIMULATED) == (one.kind is ZoneKind.SIMULATED)
            ]
            for one in found
        }
        by_id = {one.id: one for one in found if targets[one.id]}
        if not by_id:
            return []
        rows = moving.due(transaction, by_id, self._rule, self._after, MOST_READ)
        return [Candidate(row, by_id[row.zone_id], targets[row.zone_id]) for row in rows]

    async def _consider(self, term: Term, candidate: Candidate) -> bool:
        row, now = candidate.row, self._database.now()
        for target in candidate.targets:
            document = await self._database.read(self._document_in, row, target)
            if document is None:
                continue
            there = await self._outlook_there(row, target, document, now)
            if not starts_now(there, now):
                continue
            here = await self._outlook_here(candidate, now)
            if self._rule.target(here, [there], now) is None:
                return False
            moved = await self._database.write(self._move, term, candidate, target, document)
            if moved:
                log.info("moved", workload=row.id, origin=candidate.origin.name, target=target.name)
            return moved
        return False

    def _document_in(self, transaction: Transaction, row: WorkloadRow, target: Zone) -> StoredDocument | None:
        """None where the zone has not all that the work needs: its runtime, say, or a pool that it names."""
        kind = self._kinds.get(row.kind)
        zone = zones.find_zone(transaction, target.id)
        if kind is None or zone is None:
            return None
        try:
            return document_in(transaction, kind.kind.submission, row, ZoneChoice(zone, ChoiceReason.MOVED))
        except (Invalid, ValidationError):  # the second: its document is damaged, and its page says so
            return None

    async def _outlook_there(
        self, row: WorkloadRow, target: Zone, document: StoredDocument, now: datetime
    ) -> Outlook:
        """Whether it would start at once, and nobody would have to go for it."""
        whole = document.read(Document)
        replicas = pending_replicas(row.id, whole)
        value = scheduled(row.id, row.queue_id, whole, replicas, Times(row.created_at, row.waiting_since))
        scheduler = await self._zones.scheduler(target.id)
        try:
            answer = await scheduler.probe(Probe(int(now.timestamp()), value))
        except Refusal as refusal:
            log.warning("a planner does not answer", zone=target.name, reason=refusal.detail)
            return Outlook(target.id, None)
        fits = len(answer.placements) == whole.replicas and not answer.takes_from
        return Outlook(target.id, now if fits else None)

    async def _outlook_here(self, candidate: Candidate, now: datetime) -> Outlook:
        """A zone that nobody drives starts nothing, whatever its nodes would allow."""
        origin = candidate.origin
        if origin.state is ZoneState.UNREACHABLE:
            return Outlook(origin.id, None)
        scheduler = await self._zones.scheduler(origin.id)
        try:
            answer = await scheduler.probe(Explain(int(now.timestamp()), candidate.row.id))
        except Refusal as refusal:
            log.warning("a planner does not answer", zone=origin.name, reason=refusal.detail)
            return Outlook(origin.id, now)  # it stays: what was not asked is not better elsewhere
        if answer.placements or answer.takes_from or answer.explanation is None:
            return Outlook(origin.id, now)
        estimate = answer.explanation.estimate
        if estimate is None or estimate.starts_at is None:
            return Outlook(origin.id, None)
        return Outlook(origin.id, datetime.fromtimestamp(estimate.starts_at, UTC))

    def _move(
        self,
        transaction: Transaction,
        term: Term,
        candidate: Candidate,
        target: Zone,
        document: StoredDocument,
    ) -> bool:
        term.check(transaction)
        if zones.find_zone(transaction, target.id) is None:  # removed since it was asked
            return False
        return moving.move(transaction, candidate.row, candidate.origin, target, document)
