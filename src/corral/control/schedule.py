"""The schedule loop of a zone: tells the planner what changed, asks for a plan, commits it."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import structlog

from corral.control import feed
from corral.control.commit import Committed, commit
from corral.control.culprits import find_culprits, trial_of
from corral.control.feed import PlannerFeed, PlannerView
from corral.control.first_observation import was_observed
from corral.control.isolation import Apart, is_of_one
from corral.control.loop import Done, Loop, MayLead
from corral.control.planner import Planner, PlannerGoneError, PlannerRefusedError
from corral.control.term import Term
from corral.control.troubles import USUAL, Key, Rest, Troubles
from corral.core.failures import MOST_CHARACTERS, in_words
from corral.core.holds import Hold
from corral.core.plans import Plan
from corral.core.refusals import Invalid, Refusal, Unavailable
from corral.core.steps import OF_PLANNING, Step
from corral.scheduling.live.live_planner import Changes, Explain, Load, MakePlan, Probe, ProbeResult
from corral.scheduling.timing.eviction_holds import EvictionHolds
from corral.scheduling.validate.snapshot import Snapshot
from corral.scheduling.validate.snapshot_checks import check_snapshot
from corral.store.database import Database, Transaction
from corral.usage.clock import ReadClock, Reading, read_clock
from corral.workloads.troubles import replace_all
from corral.zones import journal

PERIOD_SECONDS = 10.0
ANSWER_SECONDS = 20.0
# Far longer than any plan takes; a turn may take longer, so that what has no end is found.
PLAN_SECONDS = 120.0
# Trying whether the planner can bear one again costs everybody a moment.
LONG_REST = Rest(60.0, 3600.0)
MOST_LOST = 4
_MOST_PLACES = 3

log = structlog.get_logger(__name__)


class Scheduler:
    """Holds what the planner was told; whoever takes over begins by reading everything.

    What is wrong with one workload keeps only that one from being planned: it is left out for a while, and
    its page says why. That is so when it cannot be read, when the planner fails over it, and when what the
    plan says of it cannot be written down.
    """

    def __init__(
        self,
        database: Database,
        zone_id: str,
        make_planner: Callable[[], Planner] = Planner,
        clock: Callable[[], float] = time.monotonic,
        read_time: ReadClock = read_clock,
    ) -> None:
        self._database = database
        self._read_time = read_time
        self._zone_id = zone_id
        self._make_planner = make_planner
        self._clock = clock
        self.planner = make_planner()
        self._planner_view: PlannerView | None = None
        self._eviction_holds = EvictionHolds()
        self._sent_holds: tuple[Hold, ...] = ()  # as the planner was told last
        self._epoch = -1
        self._planners_lost = 0  # one after the other
        self._planned: frozenset[str] = frozenset()  # those with whom a plan was made last
        self._troubles = Troubles()
        self._shown: Mapping[Key, str] | None = None  # troubles as they are in the database
        self._line = asyncio.Lock()  # what is known must stay as it was planned from until it is committed

    def loop(self, may_lead: MayLead | None = None, host: str = "") -> Loop:
        return Loop(
            "schedule",
            self._database,
            self.turn,
            PERIOD_SECONDS,
            zone=self._zone_id,
            topics=[journal.topic(self._zone_id)],
            may_lead=may_lead,
            host=host,
        )

    async def turn(self, term: Term) -> Done:
        """One cycle. Nothing is planned before the zone has been seen whole in this term."""
        if not await self._database.read(was_observed, self._zone_id):
            return Done()
        async with self._line:
            if term.epoch != self._epoch:
                self._planner_view, self._eviction_holds, self._epoch, self._shown = (
                    None,
                    EvictionHolds(),
                    term.epoch,
                    None,
                )
            done = await self._cycle(term)
            await self._show_troubles(term)
            return done

    async def probe(self, question: Probe | Explain) -> ProbeResult:
        """An answer from what is known now, without a trace; loads the planner if need be."""
        async with self._line:
            try:
                await self._tell()
                return await self._ask(question)
            except PlannerGoneError:
                self._planner_view = None
            try:
                await self._tell()
                return await self._ask(question)
            except PlannerGoneError:
                self._planner_view = None
                raise Unavailable("The planner ended instead of answering.", "Try again later.") from None

    def trouble_of(self, workload_id: str) -> str | None:
        """Why a workload is left out of planning, if it is."""
        return self._troubles.details().get((workload_id, Step.PLAN))

    async def _ask(self, question: Probe | Explain) -> ProbeResult:
        """Planning waits meanwhile: a search without an end is broken off, with the process that makes it."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self.planner.ask(question)
        except TimeoutError:
            self._planner_view = None
            raise Unavailable(
                f"The planner found no answer in {ANSWER_SECONDS:g} s.",
                "Ask for fewer replicas, or try again.",
            ) from None
        except PlannerRefusedError as refused:
            raise Unavailable(f"The planner refuses the question: {refused}", "Try again later.") from None

    async def close(self) -> None:
        await self.planner.close()

    async def _cycle(self, term: Term) -> Done:
        if self._planners_lost > 1:
            await self._find_culprits()
        try:
            fresh = await self._tell()
            if fresh.message is None and not (fresh.planner_view.waiting or fresh.planner_view.out):
                self._planned_well(fresh.planner_view)
                return Done()
            now = self._seconds()
            plan = await self._plan(MakePlan(now, fresh.claims))
        except (PlannerGoneError, PlannerRefusedError, TimeoutError) as error:
            # It is disposable: the next turn tells a new one everything, and the one after that looks for the
            # workload that it cannot bear.
            log.warning("the planner is loaded anew", because=str(error) or "it found no plan in time")
            await self.planner.close()
            self._planner_view = None
            self._planners_lost += 1
            return Done(more=True)
        committed = await self._commit(term, plan, fresh.planner_view)
        self._planned_well(fresh.planner_view)
        self._eviction_holds.note(plan, now)
        if committed != Committed():
            log.info(
                "plan",
                started=committed.started,
                preempted=committed.preempted,
                infeasible=committed.left,
                feasible=committed.back,
                changed_meanwhile=committed.refused,
                waiting=len(fresh.planner_view.waiting),
            )
        return Done(committed.things)

    async def _plan(self, question: MakePlan) -> Plan:
        async with asyncio.timeout(PLAN_SECONDS):
            return await self.planner.ask(question)

    def _planned_well(self, planned_from: PlannerView) -> None:
        self._planners_lost = 0
        self._planned = frozenset(planned_from.revisions)
        now = self._clock()
        for workload_id, step in self._troubles.details():
            if workload_id not in planned_from.left_out and not self._troubles.rests(workload_id, step, now):
                self._troubles.over(workload_id, step)

    async def _find_culprits(self) -> None:
        """Leaves out those with whom no plan can be made; refuses if it is none of them."""
        fresh = await self._read_everything()
        assert isinstance(fresh.message, Load)
        queues = {each.name: each.queue for each in (*fresh.message.snapshot.workloads, *fresh.message.out)}
        suspects = sorted(queues, key=lambda name: (name not in self._planned, name))
        trial = trial_of(fresh, self._seconds(), self._make_planner, PLAN_SECONDS)
        found = await find_culprits(suspects, trial, queues.__getitem__)
        if found is None:
            places = _wrong_places(fresh.message.snapshot)
            raise Unavailable(
                f"The planner ends again and again, without any workload too.{places}", "See the log."
            )
        culprits = [one for one in found if one.workload in fresh.planner_view.left_out]
        if culprits:
            raise Unavailable(
                f"The planner ends again and again over what {culprits[0].workload} holds.", "See the log."
            )
        for one in found:
            self._fails(one.workload, Step.PLAN, one.detail, LONG_REST)
            log.error("the planner cannot bear a workload; it is left out", **asdict(one))
        # Nobody is to blame for a planner that is killed: when it happens again, it is looked for again.
        self._planners_lost = 1 if found else self._planners_lost + 1
        if self._planners_lost > MOST_LOST:
            raise Unavailable(
                "The planner ends again and again, and no workload is the cause.", "See the log."
            )

    async def _read_everything(self) -> PlannerFeed:
        fresh = await self._database.scan(feed.read_everything, self._zone_id, self._resting())
        self._note_unread(fresh)
        return fresh

    async def _tell(self) -> PlannerFeed:
        if self._planner_view is None or not self.planner.is_alive:
            fresh = await self._read_everything()
        else:
            # What it pops from what is known is lost if this fails: everything is read then.
            planner_view, self._planner_view = self._planner_view, None
            fresh = await self._database.scan(feed.read_changes, self._zone_id, planner_view, self._resting())
            self._note_unread(fresh)
        fresh = self._with_holds(fresh)
        if fresh.message is not None:
            self._planner_view = None  # until it is told: a failure in between must not pass for knowledge
            await self.planner.ask(fresh.message)
        self._planner_view = fresh.planner_view
        return fresh

    def _resting(self) -> frozenset[str]:
        resting = self._troubles.resting(self._clock())
        return frozenset(workload_id for workload_id, step in resting if step is Step.PLAN)

    def _note_unread(self, fresh: PlannerFeed) -> None:
        for name, error in fresh.failed.items():
            self._fails(name, Step.PLAN, unread_in_words(error))
            log.error("a workload cannot be planned; it is left out", workload=name, exc_info=error)

    def _fails(self, workload_id: str, step: Step, detail: str, rest: Rest = USUAL) -> None:
        self._troubles.failed(workload_id, step, detail[:MOST_CHARACTERS], self._clock(), rest)

    async def _show_troubles(self, term: Term) -> None:
        now = dict(self._troubles.details())
        if now != self._shown:
            await self._database.write(self._note_troubles, term, now)
            self._shown = now

    def _note_troubles(self, transaction: Transaction, term: Term, troubles: Mapping[Key, str]) -> None:
        term.check(transaction)
        replace_all(transaction, self._zone_id, troubles, OF_PLANNING)

    def _with_holds(self, fresh: PlannerFeed) -> PlannerFeed:
        """With what is kept for those that something was taken for, where anybody could be in their way."""
        waiting = fresh.planner_view.waiting
        # During the pause before a retry the planner does not know the workload: its place is nobody's then.
        restarts = (
            one if one.workload in waiting else replace(one, workload=None) for one in fresh.restart_holds
        )
        holds = (*self._eviction_holds.holds(waiting), *restarts)
        if isinstance(fresh.message, Load):
            self._sent_holds = holds
            snapshot = replace(fresh.message.snapshot, holds=holds)
            return replace(fresh, message=replace(fresh.message, snapshot=snapshot))
        if holds == self._sent_holds or not (fresh.message or waiting):
            return fresh
        self._sent_holds = holds
        return replace(fresh, message=replace(fresh.message or Changes(), holds=holds))

    async def _commit(self, term: Term, plan: Plan, planned_from: PlannerView) -> Committed:
        """All together; if that fails, each workload by itself, so that it fails for those that it must."""
        arguments = (term, plan, planned_from, self._read_time(), self._troubles.resting(self._clock()))
        try:
            committed, failed = await self._database.write(self._write, *arguments, careful=False)
        except Exception as error:
            if not is_of_one(error):
                raise
            log.warning("not all of the plan could be written down together", error=repr(error)[:400])
            committed, failed = await self._database.write(self._write, *arguments, careful=True)
        for (workload_id, step), problem in failed.items():
            self._fails(workload_id, step, in_words(problem, with_names=True))
            log.error(
                "a step failed for one workload; it is tried again",
                workload=workload_id,
                step=step.value,
                exc_info=problem,
            )
        return committed

    def _write(
        self,
        transaction: Transaction,
        term: Term,
        plan: Plan,
        planned_from: PlannerView,
        reading: Reading,
        skipped: Mapping[Key, str],
        *,
        careful: bool,
    ) -> tuple[Committed, Mapping[Key, Exception]]:
        term.check(transaction)
        apart = Apart(skipped, careful)
        return commit(transaction, self._zone_id, plan, planned_from, reading, apart), apart.failed

    def _seconds(self) -> int:
        return int(self._database.now().timestamp())


def unread_in_words(error: Exception) -> str:
    """What is wrong with a row, without its content."""
    if isinstance(error, Refusal):
        return in_words(error)
    return f"its records are damaged ({type(error).__name__})"


def _wrong_places(snapshot: Snapshot) -> str:
    """What of nodes, pools and queues makes no sense, by name."""
    try:
        check_snapshot(replace(snapshot, workloads=(), holds=()))
    except Invalid as invalid:
        parts = [f"{_named(snapshot, one.field)}: {one.message}" for one in invalid.errors[:_MOST_PLACES]]
        return f" {' '.join(parts)}"
    return ""


def _named(snapshot: Snapshot, place: str) -> str:
    """`nodes[2].cpu_milli` as `nodes box cpu_milli`."""
    found = re.match(r"(nodes|pools|queues)\[(\d+)\]\.?(.*)", place)
    if found is None:
        return place
    kind, number, rest = found.groups()
    return f"{kind} {getattr(snapshot, kind)[int(number)].name} {rest}"
