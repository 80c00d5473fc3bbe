"""The schedule loop of a zone: tells the planner what changed, asks for a plan, commits it."""

import asyncio
from dataclasses import replace

import structlog

from corral.control import feed
from corral.control.commit import Committed, commit
from corral.control.feed import Fed, Known
from corral.control.loop import Done, Loop
from corral.control.observed import was_observed
from corral.control.planner import Planner, PlannerGoneError, PlannerRefusedError
from corral.control.term import Term
from corral.core.holds import Hold
from corral.core.plans import Plan
from corral.core.refusals import Unavailable
from corral.scheduling.live import Changes, Explain, Load, MakePlan, Probe, Told
from corral.scheduling.taken import Taken
from corral.store.database import Database, Transaction
from corral.usage.clock import Reading, read_clock
from corral.zones import journal

PERIOD_SECONDS = 10.0
ANSWER_SECONDS = 20.0

log = structlog.get_logger(__name__)


class Scheduler:
    """Holds what the planner was told; whoever takes over begins by reading everything."""

    def __init__(self, database: Database, zone_id: str, planner: Planner | None = None) -> None:
        self._database = database
        self._zone_id = zone_id
        self.planner = planner or Planner()
        self._known: Known | None = None
        self._taken = Taken()
        self._held: tuple[Hold, ...] = ()  # as the planner was told last
        self._epoch = -1
        self._planners_lost = 0  # one after the other
        self._line = asyncio.Lock()  # what is known must stay as it was planned from until it is committed

    def loop(self) -> Loop:
        return Loop(
            "schedule",
            self._database,
            self.turn,
            PERIOD_SECONDS,
            zone=self._zone_id,
            topics=[journal.topic(self._zone_id)],
        )

    async def turn(self, term: Term) -> Done:
        """One cycle. Nothing is planned before the zone has been seen whole in this term."""
        if not await self._database.read(was_observed, self._zone_id):
            return Done()
        async with self._line:
            if term.epoch != self._epoch:
                self._known, self._taken, self._epoch = None, Taken(), term.epoch
            return await self._cycle(term)

    async def probe(self, question: Probe | Explain) -> Told:
        """An answer from what is known now, without a trace; loads the planner if need be."""
        async with self._line:
            try:
                await self._tell()
                return await self._asked(question)
            except PlannerGoneError:
                self._known = None
                await self._tell()
                return await self._asked(question)

    async def _asked(self, question: Probe | Explain) -> Told:
        """Planning waits meanwhile: a search without an end is broken off, with the process that makes it."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.planner.ask(question)
        except TimeoutError:
            self._known = None
            raise Unavailable(
                f"The planner found no answer in {ANSWER_SECONDS:g} s.",
                "Ask for fewer replicas, or try again.",
            ) from None

    async def close(self) -> None:
        await self.planner.close()

    async def _cycle(self, term: Term) -> Done:
        try:
            fed = await self._tell()
            if fed.message is None and not (fed.known.waiting or fed.known.out):
                self._planners_lost = 0
                return Done()
            now = self._seconds()
            plan = await self.planner.ask(MakePlan(now, fed.claims))
        except (PlannerGoneError, PlannerRefusedError) as error:
            # It is disposable: the next turn tells a new one everything. If that fails too, the loop does.
            log.warning("the planner is loaded anew", because=str(error))
            await self.planner.close()
            self._known = None
            self._planners_lost += 1
            if self._planners_lost > 1:
                raise _unplanned(error) from error
            return Done(more=True)
        self._planners_lost = 0
        committed = await self._database.write(self._commit, term, plan, fed.known, read_clock())
        self._taken.note(plan, now)
        if committed != Committed():
            log.info(
                "plan",
                started=committed.started,
                taken=committed.taken,
                infeasible=committed.left,
                feasible=committed.back,
                changed_meanwhile=committed.refused,
                waiting=len(fed.known.waiting),
            )
        return Done(committed.things)

    async def _tell(self) -> Fed:
        if self._known is None or not self.planner.is_alive:
            fed = await self._database.scan(feed.read_everything, self._zone_id)
        else:
            fed = await self._database.scan(feed.read_changes, self._zone_id, self._known)
        fed = self._with_holds(fed)
        if fed.message is not None:
            self._known = None  # until it is told: a failure in between must not pass for knowledge
            await self.planner.ask(fed.message)
        self._known = fed.known
        return fed

    def _with_holds(self, fed: Fed) -> Fed:
        """With what is kept for those that something was taken for, where anybody could be in their way."""
        holds = self._taken.holds(fed.known.waiting)
        if isinstance(fed.message, Load):
            self._held = holds
            snapshot = replace(fed.message.snapshot, holds=holds)
            return replace(fed, message=replace(fed.message, snapshot=snapshot))
        if holds == self._held or not (fed.message or fed.known.waiting):
            return fed
        self._held = holds
        return replace(fed, message=replace(fed.message or Changes(), holds=holds))

    def _commit(
        self, transaction: Transaction, term: Term, plan: Plan, known: Known, reading: Reading
    ) -> Committed:
        term.check(transaction)
        return commit(transaction, self._zone_id, plan, known, reading)

    def _seconds(self) -> int:
        return int(self._database.now().timestamp())


def _unplanned(error: PlannerGoneError | PlannerRefusedError) -> Unavailable:
    what = "ends again and again" if isinstance(error, PlannerGoneError) else "cannot make a plan"
    return Unavailable(f"The planner {what}.", "See the log of the server.")
