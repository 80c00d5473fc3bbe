"""The live planner: a `PlannerState` that is updated by changes and asked questions in between.

Every question and answer is a value with a JSON form, so that the planner can run in its own process.
"""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from corral.core.explanations import Explanation
from corral.core.holds import Claim, Hold
from corral.core.nodes import Node
from corral.core.plans import Action, Entitlement, Infeasible, LackKind, Placement, Plan
from corral.core.queues import Queue
from corral.core.workloads import Workload
from corral.scheduling.explaining.explanations import explain_waiting
from corral.scheduling.live.arrivals import Arrivals, Arrived
from corral.scheduling.live.infeasible_work import FullCapacity, InfeasibleWork
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.timing.run_time_history import RunTimeStatistics
from corral.scheduling.validate.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Load:
    """Everything anew, and what arrived before; `out` is infeasible work."""

    snapshot: Snapshot
    arrived: tuple[Arrived, ...] = ()
    whole: FullCapacity = field(default_factory=FullCapacity)
    out: tuple[Workload, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different. `queues`, `holds` and `whole` are all of it; None leaves them as they are.

    `lessons` are what was learnt of single queues, `out` is work that is infeasible now.
    """

    workloads: tuple[Workload, ...] = ()
    gone_workloads: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    gone_nodes: tuple[str, ...] = ()
    queues: tuple[Queue, ...] | None = None
    holds: tuple[Hold, ...] | None = None
    lessons: tuple[RunTimeStatistics, ...] = ()
    whole: FullCapacity | None = None
    out: tuple[Workload, ...] = ()


@dataclass(frozen=True, slots=True)
class MakePlan:
    now: int
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """What would become of a workload that is not there yet. `queue` is its own where that is new."""

    now: int
    workload: Workload
    queue: Queue | None = None


@dataclass(frozen=True, slots=True)
class Explain:
    now: int
    workload: str


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Where a workload would start now; else why it waits and what would help.

    `takes_from` are those that must go for it, `takes_by` says why it may: what its queue reclaims, or the
    rule. `infeasible` if it could not run even alone on everything that
    there is: what would help is then said of that, whatever runs at the moment.
    """

    placements: tuple[Placement, ...] = ()
    explanation: Explanation | None = None
    takes_from: tuple[str, ...] = ()
    takes_by: Action | Entitlement | None = None
    infeasible: Infeasible | None = None


Question = Load | Changes | MakePlan | Probe | Explain
Answer = Plan | ProbeResult | None


class LivePlanner:
    """Answers nothing before it is loaded."""

    def __init__(self) -> None:
        self._arrivals: Arrivals | None = None  # with the planner
        self._infeasible: InfeasibleWork | None = None

    def answer(self, question: Question) -> Answer:
        match question:
            case Load():
                planner = PlannerState(question.snapshot)
                self._arrivals = Arrivals(planner, question.arrived)
                self._infeasible = InfeasibleWork(planner, question.whole, question.out)
                return None
            case Changes():
                self._change(question)
                return None
            case MakePlan():
                return self._plan(question)
            case Probe():
                return self._probe(question)
            case Explain():
                return self._explain(question.workload, question.now)

    def _planner_state(self) -> PlannerState:
        return self._arrival_counts().planner

    def _arrival_counts(self) -> Arrivals:
        assert self._arrivals is not None, "the planner is loaded before it is asked"
        return self._arrivals

    def _infeasible_work(self) -> InfeasibleWork:
        assert self._infeasible is not None, "the planner is loaded before it is asked"
        return self._infeasible

    def _plan(self, message: MakePlan) -> Plan:
        """Plans again without work that can never run: it wants nothing."""
        planner, infeasible_work = self._planner_state(), self._infeasible_work()
        plan = planner.plan(message.now, claims=message.claims)
        if infeasible_work.remove_infeasible(plan):
            plan = planner.plan(message.now, claims=message.claims)
        return infeasible_work.finish(plan)

    def _change(self, changes: Changes) -> None:
        """Queues before the work in them, and work before the nodes that it leaves."""
        planner, infeasible_work = self._planner_state(), self._infeasible_work()
        if changes.queues is not None:
            planner.set_queues(changes.queues)
        if changes.lessons:
            planner.set_run_times(changes.lessons)
        for node in changes.nodes:
            planner.set_node(node)
        self._change_work(changes)
        for name in changes.gone_nodes:
            planner.drop_node(name)
        if changes.holds is not None:
            planner.set_holds(changes.holds)
        if changes.nodes or changes.gone_nodes or changes.queues is not None or changes.whole is not None:
            names = (*(node.name for node in changes.nodes), *changes.gone_nodes)
            infeasible_work.capacity_changed(names, changes.whole)

    def _change_work(self, changes: Changes) -> None:
        planner, infeasible_work = self._planner_state(), self._infeasible_work()

        def is_new(workload: Workload) -> bool:
            return not planner.has_workload(workload.name) and not infeasible_work.is_out(workload.name)

        came = [each for each in (*changes.workloads, *changes.out) if is_new(each)]
        went = [planner.workload(name) for name in changes.gone_workloads if planner.has_workload(name)]
        went += [
            infeasible_work.workload(name) for name in changes.gone_workloads if infeasible_work.is_out(name)
        ]
        for workload in changes.workloads:
            planner.set_workload(workload)
        for name in (*changes.gone_workloads, *(each.name for each in changes.out)):
            if planner.has_workload(name):
                planner.drop_workload(name)
        infeasible_work.workloads_changed(changes.workloads, changes.gone_workloads, changes.out)
        self._arrival_counts().change(came, went)

    def _probe(self, probe: Probe) -> ProbeResult:
        planner = self._planner_state()
        is_known = probe.queue is None or any(each.name == probe.queue.name for each in planner.queues)
        with (
            nullcontext()
            if probe.queue is None or is_known
            else self._infeasible_work().with_leaf(probe.queue)
        ):
            planner.set_workload(probe.workload)
            try:
                return self._explain(probe.workload.name, probe.now)
            finally:
                planner.drop_workload(probe.workload.name)

    def _explain(self, name: str, now: int) -> ProbeResult:
        planner, infeasible_work = self._planner_state(), self._infeasible_work()
        if infeasible_work.is_out(name):
            return self._explain_infeasible(infeasible_work.workload(name), now)
        if not planner.has_workload(name):
            return ProbeResult()
        plan = planner.plan(now)
        places = tuple(each for each in plan.placements if each.workload == name)
        evictions = [each for each in plan.evictions if each.for_workload == name]
        takes = sorted({each.workload for each in evictions})
        waits = any(each.workload == name for each in plan.unplaced)
        if waits and not takes and infeasible_work.judge(planner.workload(name)) is not None:
            return self._explain_infeasible(planner.workload(name), now)
        takes_by = next((each.entitlement or each.rule for each in evictions), None)
        return ProbeResult(
            places, explain_waiting(planner, planner.snapshot(now), name), tuple(takes), takes_by
        )

    def _explain_infeasible(self, workload: Workload, now: int) -> ProbeResult:
        infeasible = self._infeasible_work().judge(workload)
        if infeasible is None:
            return ProbeResult()  # it could run since a moment ago; the next plan says so
        explanation = self._infeasible_work().explain_workload(workload, now)
        if infeasible.lack is not None and infeasible.lack.kind is not LackKind.COMBINED:
            # The arithmetic says it all; which check fails first on each node adds nothing.
            explanation = replace(explanation, reason=replace(explanation.reason, failed_checks={}))
        return ProbeResult(explanation=explanation, infeasible=infeasible)
