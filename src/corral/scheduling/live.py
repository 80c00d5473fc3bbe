"""The live planner: an engine that is kept up to date by changes and asked questions in between.

Every question and answer is a value with a JSON form, so that the planner can live in a process of its own.
"""

from dataclasses import dataclass, replace

from corral.core.explanations import Explanation
from corral.core.holds import Claim, Hold
from corral.core.nodes import Node
from corral.core.plans import Placement, Plan
from corral.core.queues import Queue
from corral.core.workloads import Workload
from corral.scheduling.arrivals import Arrivals, Arrived
from corral.scheduling.engine import Engine, schedule
from corral.scheduling.experience import Lesson
from corral.scheduling.snapshot import Snapshot
from corral.scheduling.why import why_in


@dataclass(frozen=True, slots=True)
class Load:
    """Everything anew, and what arrived before."""

    snapshot: Snapshot
    arrived: tuple[Arrived, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different. `queues` and `holds` are all of them; None leaves them as they are.

    `lessons` are what was learnt of single queues.
    """

    workloads: tuple[Workload, ...] = ()
    gone_workloads: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    gone_nodes: tuple[str, ...] = ()
    queues: tuple[Queue, ...] | None = None
    holds: tuple[Hold, ...] | None = None
    lessons: tuple[Lesson, ...] = ()


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

    `takes_from` are those that must go for it. `ever` is False if it could not even run on its own.
    """

    placements: tuple[Placement, ...] = ()
    explanation: Explanation | None = None
    takes_from: tuple[str, ...] = ()
    ever: bool = True


Question = Load | Changes | MakePlan | Probe | Explain
Answer = Plan | Told | None


class LivePlanner:
    """Knows nothing until it is told everything."""

    def __init__(self) -> None:
        self._arrivals: Arrivals | None = None  # with the engine that they are told to

    def answer(self, question: Question) -> Answer:
        match question:
            case Load():
                self._arrivals = Arrivals(Engine(question.snapshot), question.arrived)
                return None
            case Changes():
                self._change(question)
                return None
            case MakePlan():
                return self._known().plan(question.now, claims=question.claims)
            case Probe():
                return self._probe(question)
            case Explain():
                return self._tell(question.workload, question.now)

    def _known(self) -> Engine:
        return self._counted().engine

    def _counted(self) -> Arrivals:
        assert self._arrivals is not None, "the planner is loaded before it is asked"
        return self._arrivals

    def _change(self, changes: Changes) -> None:
        """Queues before the work in them, and work before the nodes that it leaves."""
        engine = self._known()
        if changes.queues is not None:
            engine.set_queues(changes.queues)
        if changes.lessons:
            engine.teach(changes.lessons)
        for node in changes.nodes:
            engine.set_node(node)
        came = [each for each in changes.workloads if not engine.has_workload(each.name)]
        went = [engine.workload(name) for name in changes.gone_workloads if engine.has_workload(name)]
        for workload in changes.workloads:
            engine.set_workload(workload)
        for workload in went:
            engine.drop_workload(workload.name)
        self._counted().change(came, went)
        for name in changes.gone_nodes:
            engine.drop_node(name)
        if changes.holds is not None:
            engine.set_holds(changes.holds)

    def _probe(self, probe: Probe) -> Told:
        engine = self._known()
        known = engine.snapshot(probe.now).queues
        missing = tuple(one for one in probe.queues if one.name not in {each.name for each in known})
        if missing:
            engine.set_queues((*known, *missing))
        try:
            engine.set_workload(probe.workload)
            try:
                return self._tell(probe.workload.name, probe.now)
            finally:
                engine.drop_workload(probe.workload.name)
        finally:
            if missing:
                engine.set_queues(known)

    def _tell(self, name: str, now: int) -> Told:
        engine = self._known()
        if not engine.has_workload(name):
            return Told()
        plan = engine.plan(now)
        places = tuple(each for each in plan.placements if each.workload == name)
        takes = sorted({each.workload for each in plan.evictions if each.for_workload == name})
        snapshot = engine.snapshot(now)
        told = Told(places, why_in(engine, snapshot, name), tuple(takes))
        if told.explanation is None or takes:
            return told
        alone = tuple(each for each in snapshot.workloads if each.name == name)
        ever = schedule(replace(snapshot, workloads=alone, holds=())).placements
        return replace(told, ever=bool(ever))
