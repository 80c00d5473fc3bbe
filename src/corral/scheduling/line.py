"""The line: who waits for a place, and who is out of it because nothing that there is could run it.

Work that is out of the line is not told to the engine: it has no turn and no share, and holds nobody up. It
is looked at again when nodes, pools or quotas change.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from corral.core.explanations import Explanation
from corral.core.nodes import Node
from corral.core.plans import Infeasible, Plan, ReasonKind
from corral.core.queues import Queue
from corral.core.workloads import ReplicaState, Workload
from corral.scheduling.engine import Engine
from corral.scheduling.pools import replicas_of
from corral.scheduling.whole import WholeCluster

# So many that are unlike all before are looked at in a cycle; the others in the next.
MOST_LOOKED_AT = 200
# There is room for these, or they run already.
_NOT_FOR_EVER = {ReasonKind.RESERVED, ReasonKind.HELD, ReasonKind.MEMBERS_LEAVING, ReasonKind.NOT_TRIED}


@dataclass(frozen=True, slots=True)
class Whole:
    """What is different when everything that a zone has is there.

    Nodes that are lost or cordoned or have faulty devices, as they would be; and all queues, where what
    they are guaranteed goes with what is there (None: as they are).
    """

    nodes: tuple[Node, ...] = ()
    queues: tuple[Queue, ...] | None = None


class Line:
    """Beside an engine that knows who is in the line."""

    def __init__(self, engine: Engine, whole: Whole, out: Iterable[Workload]) -> None:
        self._engine = engine
        self._whole = whole
        self._cluster: WholeCluster | None = None  # built for the first that waits
        self._out = {workload.name: workload for workload in out}
        self._stay: set[str] = set()  # of those that are out: looked at, and nothing has changed since
        self._may: set[str] = set()  # of those in the line, likewise
        self._found: dict[str, Infeasible] = {}  # left the line here; nobody has said so yet

    def is_out(self, name: str) -> bool:
        return name in self._out

    def told(self, workloads: Iterable[Workload], gone: Iterable[str], out: Iterable[Workload]) -> None:
        """Work as whoever keeps it says that it is; the engine was told of what is in the line."""
        for name in (*(each.name for each in workloads), *gone):
            self._forget(name)
        for workload in out:
            stays = workload.name in self._found
            self._forget(workload.name)
            self._out[workload.name] = workload
            if stays:
                self._stay.add(workload.name)

    def ground_changed(self, names: Iterable[str], whole: Whole | None) -> None:
        """The engine was told of other nodes or queues."""
        touched = {*names, *(node.name for node in self._whole.nodes)}
        if whole is not None:
            self._whole = whole
            touched |= {node.name for node in whole.nodes}
        if self._cluster is None:
            self._look_again()
            return
        dormant = {node.name: node for node in self._whole.nodes}
        nodes = {name: dormant.get(name) or self._engine.node(name) for name in touched}
        if self._cluster.change(nodes, self._queues()):
            self._look_again()

    def leave(self, plan: Plan) -> bool:
        """Takes those out of the line that could never run; whether there were any."""
        waiting = [
            self._engine.workload(each.workload)
            for each in plan.unplaced
            if each.workload not in self._may and each.reason.kind not in _NOT_FOR_EVER
        ]
        found = [infeasible for each in self._some(waiting) if (infeasible := self._judged(each, self._may))]
        for each in found:
            self._out[each.workload] = self._engine.workload(each.workload)
            self._stay.add(each.workload)
            self._found[each.workload] = each
            self._engine.drop_workload(each.workload)
        return bool(found)

    def finish(self, plan: Plan) -> Plan:
        """The plan with who leaves the line and who comes back, as far as nobody has said so yet."""
        unsure = [workload for name, workload in self._out.items() if name not in self._stay]
        back = []
        for workload in self._some(unsure):
            if self._judged(workload, set()) is None:
                back.append(workload.name)
            else:
                self._stay.add(workload.name)
        return replace(plan, infeasible=tuple(self._found.values()), feasible=tuple(sorted(back)))

    def judge(self, workload: Workload) -> Infeasible | None:
        """Of one workload, which need not be known."""
        return self._everything().judge(workload, (self._engine.wanted_in(workload),))

    def why(self, workload: Workload, now: int) -> Explanation:
        return self._everything().why(workload, now)

    def workload(self, name: str) -> Workload:
        """One that is out of the line."""
        return self._out[name]

    @contextmanager
    def with_queues(self, queues: tuple[Queue, ...]) -> Iterator[None]:
        """As if these were there too, for a question."""
        if not queues:
            yield
            return
        known = self._engine.queues
        self._engine.set_queues((*known, *queues))
        self._everything().change({}, (*self._queues(), *(() if self._whole.queues is None else queues)))
        try:
            yield
        finally:
            self._engine.set_queues(known)
            self._everything().change({}, self._queues())

    def _judged(self, workload: Workload, fine: set[str]) -> Infeasible | None:
        if any(replica.state is not ReplicaState.PENDING for replica in replicas_of(workload)):
            return None
        infeasible = self.judge(workload)
        if infeasible is None:
            fine.add(workload.name)
        return infeasible

    def _some(self, workloads: Sequence[Workload]) -> Iterable[Workload]:
        """As many as may be looked at in one cycle; what is known already costs nothing."""
        looked_at = 0
        for workload in workloads:
            new = not self._everything().knows(workload, (self._engine.wanted_in(workload),))
            looked_at += new
            if looked_at > MOST_LOOKED_AT:
                return
            yield workload

    def _everything(self) -> WholeCluster:
        if self._cluster is None:
            snapshot = self._engine.snapshot(0)
            nodes = {node.name: node for node in (*snapshot.nodes, *self._whole.nodes)}
            self._cluster = WholeCluster(
                replace(snapshot, nodes=tuple(nodes.values()), queues=self._queues())
            )
        return self._cluster

    def _queues(self) -> tuple[Queue, ...]:
        return self._engine.queues if self._whole.queues is None else self._whole.queues

    def _look_again(self) -> None:
        for name in list(self._found):
            self._engine.set_workload(self._out[name])
            self._forget(name)
        self._may.clear()
        self._stay.clear()

    def _forget(self, name: str) -> None:
        self._out.pop(name, None)
        self._found.pop(name, None)
        self._stay.discard(name)
        self._may.discard(name)
