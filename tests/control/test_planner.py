"""The planner in its own process: asked over pipes, lost, and loaded again."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from corral.control.planner import Planner, PlannerGoneError, PlannerRefusedError
from corral.control.planner_child import frame
from corral.core.changes import AskForLess, Wait
from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.plans import Lack, LackKind, ReasonKind
from corral.core.queues import Queue
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.live.infeasible_work import FullCapacity
from corral.scheduling.live.live_planner import Changes, Explain, Load, MakePlan, Probe
from corral.scheduling.planning.planner_state import schedule
from corral.scheduling.validate.snapshot import Snapshot, write_value

NODE = Node("n0", 8000, 65536, devices=(Device("g0", 81920), Device("g1", 81920)))
QUEUES = (Queue("all"), Queue("ana", "all"), Queue("bert", "all"))


def work(name: str, queue: str = "ana", gpus: int = 1, **changes: object) -> Workload:
    request = Request(1000, 1024, DeviceRequest(gpus))
    group = ReplicaGroup("main", None, request, (Replica(f"{name}-0"),))
    return replace(Workload(name, queue, (group,)), **changes)  # type: ignore[arg-type]


def running(workload: Workload, *devices: str) -> Workload:
    group = workload.groups[0]
    uses = tuple(map(DeviceUse, devices))
    placed = replace(group.replicas[0], state=ReplicaState.RUNNING, node="n0", devices=uses)
    return replace(workload, groups=(replace(group, replicas=(placed,)),), running_since=0)


@pytest.fixture
async def planner() -> AsyncIterator[Planner]:
    planner = Planner()
    yield planner
    await planner.close()


async def test_plan_over_the_pipe_is_the_plan(planner: Planner) -> None:
    snapshot = Snapshot(100, (NODE,), QUEUES, (work("a"), work("b", "bert"), work("c")))
    await planner.ask(Load(snapshot))
    assert await planner.ask(MakePlan(100)) == schedule(snapshot)


async def test_changes_are_planned_like_a_fresh_snapshot(planner: Planner) -> None:
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, ())))
    assert (await planner.ask(MakePlan(100))).is_empty
    await planner.ask(Changes((work("a"), work("b"))))
    await planner.ask(Changes(gone_workloads=("a", "never-there")))
    plan = await planner.ask(MakePlan(101))
    assert plan == schedule(Snapshot(101, (NODE,), QUEUES, (work("b"),)))
    assert [one.workload for one in plan.placements] == ["b"]


async def test_probe_says_where_it_fits_and_leaves_no_trace(planner: Planner) -> None:
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, (work("a"),))))
    before = await planner.ask(MakePlan(100))
    told = await planner.ask(Probe(100, work("mine", "carl"), Queue("carl", "all")))
    assert [one.node for one in told.placements] == ["n0"]
    assert told.explanation is None
    assert await planner.ask(MakePlan(100)) == before


async def test_probe_says_why_it_would_wait_and_what_would_help(planner: Planner) -> None:
    first = running(work("a", gpus=2, runtime_limit_seconds=600), "g0", "g1")
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, (first,))))
    told = await planner.ask(Probe(100, work("mine")))
    assert (told.placements, told.infeasible) == ((), None)
    assert told.explanation is not None
    assert told.explanation.reason.kind is ReasonKind.NO_ROOM
    assert told.explanation.estimate is not None
    assert told.explanation.estimate.starts_at == 600
    assert any(isinstance(one, Wait) for one in told.explanation.changes)


async def test_probe_of_what_can_never_run_names_what_would(planner: Planner) -> None:
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, ())))
    told = await planner.ask(Probe(100, work("mine", gpus=3)))
    assert told.infeasible is not None
    assert told.infeasible.lack == Lack(LackKind.DEVICES, 3, 2)
    assert told.explanation is not None
    assert told.explanation.estimate is None
    assert AskForLess("main", "devices", 2) in told.explanation.changes
    # The arithmetic is all there is to say: no check of a single node adds to it.
    assert told.explanation.reason.failed_checks == {}


async def test_waiting_work_is_explained(planner: Planner) -> None:
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, (work("a", gpus=2), work("b", gpus=2, created=1)))))
    told = await planner.ask(Explain(100, "b"))
    assert told.explanation is not None
    assert told.explanation.in_queue is not None
    assert (await planner.ask(Explain(100, "unknown"))).explanation is None


async def test_lost_planner_is_said_and_a_new_one_is_loaded(planner: Planner) -> None:
    snapshot = Snapshot(100, (NODE,), QUEUES, (work("a"),))
    await planner.ask(Load(snapshot))
    assert planner.pid is not None
    os.kill(planner.pid, signal.SIGKILL)
    with pytest.raises(PlannerGoneError):
        await planner.ask(MakePlan(100))
    with pytest.raises(PlannerGoneError):
        await planner.ask(MakePlan(100))
    await planner.ask(Load(snapshot))
    assert planner.generation == 2
    assert len((await planner.ask(MakePlan(100))).placements) == 1


async def test_senseless_change_is_refused_and_the_planner_stays(planner: Planner) -> None:
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, ())))
    with pytest.raises(PlannerRefusedError, match="nowhere"):
        await planner.ask(Changes((work("a", "nowhere"),)))
    assert planner.generation == 1


def test_planner_whose_asker_is_gone_ends_without_a_word() -> None:
    """What it would say stands on the terminal of `corral up`."""
    question = frame("Load", write_value(Load(Snapshot(100, (NODE,), QUEUES, ()))))
    with subprocess.Popen(
        [sys.executable, "-m", "corral.control.planner_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as planner:
        assert planner.stdin is not None
        assert planner.stdout is not None
        assert planner.stderr is not None
        planner.stdout.close()
        planner.stdin.write(question)
        planner.stdin.close()
        assert planner.stderr.read() == b""


async def test_work_that_left_the_line_is_named_until_it_is_told_of(planner: Planner) -> None:
    """A plan may be lost before it is written down: the next one says it again."""
    huge, small = work("huge", gpus=3), work("small")
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, (huge, small))))
    for _ in range(2):
        plan = await planner.ask(MakePlan(100))
        assert [one.workload for one in plan.infeasible] == ["huge"]
        assert [one.workload for one in plan.placements] == ["small"]
        assert plan.unplaced == ()
    await planner.ask(Changes(out=(huge,)))
    assert (await planner.ask(MakePlan(100))).infeasible == ()
    twin = replace(NODE, name="n1", devices=(*NODE.devices, Device("g9", 81920)))
    await planner.ask(Changes(nodes=(twin,)))
    for _ in range(2):
        assert (await planner.ask(MakePlan(100))).feasible == ("huge",)
    await planner.ask(Changes(workloads=(huge,)))
    plan = await planner.ask(MakePlan(100))
    assert ({one.workload for one in plan.placements}, plan.feasible) == ({"huge", "small"}, ())


async def test_ground_that_changes_before_anybody_was_told_brings_work_back(planner: Planner) -> None:
    huge = work("huge", gpus=3)
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, (huge,))))
    assert (await planner.ask(MakePlan(100))).infeasible
    twin = replace(NODE, name="n1", devices=(*NODE.devices, Device("g9", 81920)))
    await planner.ask(Changes(nodes=(twin,)))
    plan = await planner.ask(MakePlan(100))
    assert ([one.workload for one in plan.placements], plan.infeasible) == (["huge"], ())


async def test_nodes_that_may_come_back_are_capacity(planner: Planner) -> None:
    """Their taints and their absence keep work waiting, not out of the line."""
    huge, away = work("huge", gpus=3), replace(NODE, name="n1", devices=(*NODE.devices, Device("g9", 81920)))
    await planner.ask(Load(Snapshot(100, (NODE,), QUEUES, (huge,)), whole=FullCapacity((away,))))
    plan = await planner.ask(MakePlan(100))
    assert ([one.workload for one in plan.unplaced], plan.infeasible) == (["huge"], ())
    await planner.ask(Changes(whole=FullCapacity()))
    assert [one.workload for one in (await planner.ask(MakePlan(100))).infeasible] == ["huge"]
