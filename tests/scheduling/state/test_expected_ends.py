"""The ends of what runs are kept between cycles, and are those that would be found anew."""

from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.queues import Queue
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.planning.planner_state import PlannerState
from corral.scheduling.timing.reservations import ends_of
from corral.scheduling.validate.snapshot import Snapshot

DEVICES = 6
NODE = Node("n0", 8000, 8000, devices=tuple(Device(f"g{number}", 100) for number in range(DEVICES)))
LIKELY = st.lists(st.integers(1, 900), max_size=6).map(lambda values: tuple(sorted(values)))


@dataclass
class Change:
    """Something happens to the device's work (it starts, goes, waits), or to a queue, at a time."""

    now: int
    device: int
    since: int | None
    limit: int | None
    guess: int | None
    learnt: tuple[int | None, tuple[int, ...], tuple[int, ...]] | None


CHANGES = st.lists(
    st.builds(
        Change,
        st.integers(0, 3000),
        st.integers(0, DEVICES - 1),
        st.none() | st.integers(0, 2000),
        st.none() | st.integers(1, 1500),
        st.none() | st.integers(1, 1500),
        st.none() | st.tuples(st.none() | st.integers(1, 900), LIKELY, LIKELY),
    ),
    max_size=12,
)


def work(change: Change) -> Workload:
    name, state = f"w{change.device}", ReplicaState.RUNNING
    replica = Replica(name, state, "n0", (DeviceUse(f"g{change.device}"),))
    group = ReplicaGroup("main", None, Request(devices=DeviceRequest(1)), (replica,))
    return Workload(
        name,
        f"q{change.device % 2}",
        (group,),
        running_since=change.since,
        runtime_limit_seconds=change.limit,
        runtime_estimate_seconds=change.guess,
    )


def known(planner: PlannerState, now: int) -> list[tuple[int, str]]:
    with planner.cycles_after(now, ()) as cycles:
        return [end[:2] for cycle in cycles for end in ends_of(cycle)]


@settings(deadline=None)
@given(CHANGES)
def test_ends_that_were_kept_are_those_found_anew(changes: list[Change]) -> None:
    queues = [Queue("q0"), Queue("q1")]
    planner = PlannerState(Snapshot(0, (NODE,), tuple(queues), ()))
    for change in changes:
        if change.since is not None:
            planner.set_workload(work(change))
        elif planner.has_workload(f"w{change.device}"):
            planner.drop_workload(f"w{change.device}")
        if change.learnt is not None:
            typical, runtimes, uses = change.learnt
            queues[change.device % 2] = replace(
                queues[change.device % 2],
                typical_runtime_seconds=typical,
                runtimes_seconds=runtimes,
                limit_uses_milli=uses,
            )
            planner.set_queues(queues)
        fresh = PlannerState(planner.snapshot(change.now))
        assert known(planner, change.now) == known(fresh, change.now)
