"""The live planner: an engine that is kept up to date by changes and asked questions in between.

Every question and answer is a value with a JSON form, so that the planner can live in a process of its own.
"""

from dataclasses import dataclass, field

from corral.core.explanations import Explanation
from corral.core.holds import Claim, Hold
from corral.core.nodes import Node
from corral.core.plans import Infeasible, Placement, Plan
from corral.core.queues import Queue
from corral.core.workloads import Workload
from corral.scheduling.arrivals import Arrivals, Arrived
from corral.scheduling.engine import Engine
from corral.scheduling.experience import Lesson
from corral.scheduling.line import Line, Whole
from corral.scheduling.snapshot import Snapshot
from corral.scheduling.why import why_in


@dataclass(frozen=True, slots=True)
class Load:
    """Everything anew, and what arrived before; `out` is work that is out of the line."""

    snapshot: Snapshot
    arrived: tuple[Arrived, ...] = ()
    whole: Whole = field(default_factory=Whole)
    out: tuple[Workload, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different. `queues`, `holds` and `whole` are all of it; None leaves them as they are.

    `lessons` are what was learnt of single queues, `out` is work that is out of the line now.
    """

    workloads: tuple[Workload, ...] = ()
    gone_workloads: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    gone_nodes: tuple[str, ...] = ()
    queues: tuple[Queue, ...] | None = None
    holds: tuple[Hold, ...] | None = None
    lessons: tuple[Lesson, ...] = ()
    whole: Whole | None = None
    out: tuple[Workload, ...] = ()


@dataclass(frozen=True, slots=True)
class MakePlan:
    now: int
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class Probe:
    """What would become of a workload that is not there yet. `queues` are its own if they are new."""

    now: int
    workload: Workload
    queues: tuple[Queue, ...] = ()


@dataclass(frozen=True, slots=True)
class Explain:
    now: int
    workload: str


@dataclass(frozen=True, slots=True)
class Told:
    """Where a workload would start now; else why it waits and what would help.

    `takes_from` are those that must go for it. `infeasible` if it could not run even alone on everything that
    there is: what would help is then said of that, whatever runs at the moment.
    """

    placements: tuple[Placement, ...] = ()
    explanation: Explanation | None = None
    takes_from: tuple[str, ...] = ()
    infeasible: Infeasible | None = None


Question = Load | Changes | MakePlan | Probe | Explain
Answer = Plan | Told | None


class LivePlanner:
    """Knows nothing until it is told everything."""

    def __init__(self) -> None:
        self._arrivals: Arrivals | None = None  # with the engine that they are told to
        self._line: Line | None = None

    def answer(self, question: Question) -> Answer:
        match question:
            case Load():
                engine = Engine(question.snapshot)
                self._arrivals = Arrivals(engine, question.arrived)
                self._line = Line(engine, question.whole, question.out)
                return None
            case Changes():
                self._change(question)
                return None
            case MakePlan():
                return self._plan(question)
            case Probe():
                return self._probe(question)
            case Explain():
                return self._tell(question.workload, question.now)

    def _known(self) -> Engine:
        return self._counted().engine

    def _counted(self) -> Arrivals:
        assert self._arrivals is not None, "the planner is loaded before it is asked"
        return self._arrivals

    def _lined(self) -> Line:
        assert self._line is not None, "the planner is loaded before it is asked"
        return self._line

    def _plan(self, asked: MakePlan) -> Plan:
        """Planned again without those that can never run: they want nothing."""
        engine, line = self._known(), self._lined()
        plan = engine.plan(asked.now, claims=asked.claims)
        if line.leave(plan):
            plan = engine.plan(asked.now, claims=asked.claims)
        return line.finish(plan)

    def _change(self, changes: Changes) -> None:
        """Queues before the work in them, and work before the nodes that it leaves."""
        engine, line = self._known(), self._lined()
        if changes.queues is not None:
            engine.set_queues(changes.queues)
        if changes.lessons:
            engine.teach(changes.lessons)
        for node in changes.nodes:
            engine.set_node(node)
        self._change_work(changes)
        for name in changes.gone_nodes:
            engine.drop_node(name)
        if changes.holds is not None:
            engine.set_holds(changes.holds)
        if changes.nodes or changes.gone_nodes or changes.queues is not None or changes.whole is not None:
            names = (*(node.name for node in changes.nodes), *changes.gone_nodes)
            line.ground_changed(names, changes.whole)

    def _change_work(self, changes: Changes) -> None:
        engine, line = self._known(), self._lined()

        def is_new(workload: Workload) -> bool:
            return not engine.has_workload(workload.name) and not line.is_out(workload.name)

        came = [each for each in (*changes.workloads, *changes.out) if is_new(each)]
        went = [engine.workload(name) for name in changes.gone_workloads if engine.has_workload(name)]
        went += [line.workload(name) for name in changes.gone_workloads if line.is_out(name)]
        for workload in changes.workloads:
            engine.set_workload(workload)
        for name in (*changes.gone_workloads, *(each.name for each in changes.out)):
            if engine.has_workload(name):
                engine.drop_workload(name)
        line.told(changes.workloads, changes.gone_workloads, changes.out)
        self._counted().change(came, went)

    def _probe(self, probe: Probe) -> Told:
        engine, line = self._known(), self._lined()
        known = {each.name for each in engine.queues}
        with line.with_queues(tuple(one for one in probe.queues if one.name not in known)):
            engine.set_workload(probe.workload)
            try:
                return self._tell(probe.workload.name, probe.now)
            finally:
                engine.drop_workload(probe.workload.name)

    def _tell(self, name: str, now: int) -> Told:
        engine, line = self._known(), self._lined()
        if line.is_out(name):
            return self._tell_never(line.workload(name), now)
        if not engine.has_workload(name):
            return Told()
        plan = engine.plan(now)
        places = tuple(each for each in plan.placements if each.workload == name)
        takes = sorted({each.workload for each in plan.evictions if each.for_workload == name})
        waits = any(each.workload == name for each in plan.unplaced)
        if waits and not takes and line.judge(engine.workload(name)) is not None:
            return self._tell_never(engine.workload(name), now)
        return Told(places, why_in(engine, engine.snapshot(now), name), tuple(takes))

    def _tell_never(self, workload: Workload, now: int) -> Told:
        infeasible = self._lined().judge(workload)
        if infeasible is None:
            return Told()  # it could run since a moment ago; the next plan says so
        return Told(explanation=self._lined().why(workload, now), infeasible=infeasible)
