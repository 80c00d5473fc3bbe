"""The adapter of recorded decisions reads every field that such files have."""

from typing import Any

import pytest

from benchmarks.conformance import factory, snapshot_of
from corral.scheduling.validate.snapshot_checks import check_snapshot

Json = dict[str, Any]
ALL = ["allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"]


def node(gpus: int, **more: Any) -> Json:
    sizes = {"gpu_memory_mib": 100, "cpu_milli": 64_000, "memory_bytes": 1 << 36, "max_pods": 110}
    return {"gpus": gpus, "labels": {}, **sizes, **more}


def quota(amount: float = -1, limit: float = -1, weight: float = 1) -> Json:
    return {"quota": amount, "limit": limit, "over_quota_weight": weight}


def queue(name: str, gpu: float = 0, **more: Any) -> Json:
    base = {"name": name, "parent": None, "priority": 100, "created_index": 0, "gpu": quota(gpu)}
    return {**base, "cpu_milli": quota(), "memory_mb": quota(), **more}


def task(name: str, on: str | None = None, **more: Any) -> Json:
    request = {"cpu_milli": 1000, "memory_bytes": 1 << 20, **more.pop("request", {"gpus": 1})}
    state = "Running" if on else "Pending"
    base = {"name": name, "state": state, "node": on, "gpu_groups": [], "subgroup": "default"}
    return {**base, "request": request, **more}


def job(name: str, of: str, tasks: list[Json], **more: Any) -> Json:
    minimum = more.pop("min_available", len(tasks))
    sets = {"name": "root", "groups": [], "pod_sets": [{"name": "default", "min_available": minimum}]}
    base = {"name": name, "queue": of, "priority": 50, "preemptible": True, "created_minutes_ago": 10}
    return {**base, "min_available": minimum, "tasks": tasks, "subgroups": sets, **more}


def run(nodes: Json, queues: list[Json], jobs: list[Json], actions: list[str] = ALL, **more: Any) -> Json:
    cluster = {"nodes": nodes, "queues": queues, "jobs": jobs, **more}
    check_snapshot(snapshot_of(cluster))
    return factory().schedule(cluster, actions)


def statuses(changes: Json) -> dict[str, str]:
    return {name: change["status"] for name, change in changes.items()}


def test_only_the_named_actions_run() -> None:
    cluster = (
        {"n0": node(1)},
        [queue("a"), queue("b", 1)],
        [job("hog", "a", [task("hog-0", "n0")]), job("owner", "b", [task("owner-0")])],
    )
    assert run(*cluster, actions=["allocate", "preempt"]) == {}
    assert statuses(run(*cluster, actions=["reclaim"])) == {"hog-0": "Releasing", "owner-0": "Pipelined"}


def test_a_task_runs_only_on_its_required_nodes() -> None:
    pinned = job("one", "a", [task("one-0", required_nodes=["n1"])])
    changes = run({"n0": node(1), "n1": node(2)}, [queue("a", 3)], [pinned])
    assert changes["one-0"]["node"] == "n1"


def test_requests_in_mib_share_a_device_and_are_charged_by_their_part() -> None:
    shares = [
        job(f"s{index}", "a", [task(f"s{index}-0", request={"gpu_memory_mib": 50})]) for index in range(3)
    ]
    changes = run({"n0": node(1)}, [queue("a", 1)], shares)
    assert sorted(statuses(changes).values()) == ["Binding", "Binding"]
    assert {label for change in changes.values() for label in change["gpu_groups"]} == {"n0-gpu0"}


def test_running_slices_sit_on_the_device_of_their_label() -> None:
    half = {"gpu_fraction": 0.5}
    held = [
        job("x", "a", [task("x-0", "n0", gpu_groups=["l1"], request=half)]),
        job("y", "a", [task("y-0", "n0", gpu_groups=["l1"], request=half)]),
    ]
    late = job("whole", "a", [task("whole-0")])
    assert statuses(run({"n0": node(2)}, [queue("a", 2)], [*held, late])) == {"whole-0": "Binding"}


@pytest.mark.parametrize(("ran", "taken"), [(30, False), (90, True)])
def test_a_minimum_run_time_protects_from_reclaim(ran: int, taken: bool) -> None:
    queues = [queue("a", reclaim_min_runtime_s=60), queue("b", 1)]
    hog = job("hog", "a", [task("hog-0", "n0")], running_for_s=ran)
    changes = run({"n0": node(1)}, queues, [hog, job("owner", "b", [task("owner-0")])])
    assert ("hog-0" in changes) == taken


@pytest.mark.parametrize(("ran", "taken"), [(30, False), (90, True)])
def test_a_minimum_run_time_protects_from_preemption(ran: int, taken: bool) -> None:
    low = job("low", "a", [task("low-0", "n0")], running_for_s=ran)
    high = job("high", "a", [task("high-0")], priority=75)
    changes = run({"n0": node(1)}, [queue("a", 1, preempt_min_runtime_s=60)], [low, high])
    assert ("low-0" in changes) == taken


@pytest.mark.parametrize(("department", "taken"), [(60, False), (10, True)])
def test_between_departments_their_own_minimum_run_time_counts(department: int, taken: bool) -> None:
    queues = [
        queue("d", reclaim_min_runtime_s=department),
        queue("a", parent="d", reclaim_min_runtime_s=600),
        queue("b", 1),
    ]
    hog = job("hog", "a", [task("hog-0", "n0")], running_for_s=30)
    changes = run({"n0": node(1)}, queues, [hog, job("owner", "b", [task("owner-0")])])
    assert ("hog-0" in changes) == taken


@pytest.mark.parametrize(("delay", "taken"), [(1200, False), (60, True)])
def test_inside_its_preemption_delay_a_job_takes_from_nobody(delay: int, taken: bool) -> None:
    owner = job("owner", "b", [task("owner-0")], preemption_delay_s=delay)
    hog = job("hog", "a", [task("hog-0", "n0")])
    assert bool(run({"n0": node(1)}, [queue("a"), queue("b", 1)], [hog, owner])) == taken


@pytest.mark.parametrize("said", [{"stale_for_s": 61}, {}])
def test_a_gang_that_runs_below_its_minimum_is_evicted_without_grace(said: Json) -> None:
    members = [task("g-0", "n0"), task("g-1", "n0"), task("g-2", required_nodes=["n1"])]
    gang = job("g", "a", members, **said)
    cluster = ({"n0": node(2), "n1": node(0)}, [queue("a", 4)], [gang])
    assert statuses(run(*cluster)) == {"g-0": "Releasing", "g-1": "Releasing"}


def test_a_gang_with_fewer_members_than_it_needs_never_starts() -> None:
    gang = job("g", "a", [task("g-0"), task("g-1", state="Failed")], min_available=2)
    assert run({"n0": node(4)}, [queue("a", 4)], [gang]) == {}


def test_what_is_releasing_is_promised_and_what_is_stuck_is_not() -> None:
    leaving = job("x", "a", [task("x-0", "n0", state="Releasing")])
    stuck = job("y", "a", [task("y-0", "n0", state="StuckInReleasing")])
    late = [job("l1", "a", [task("l1-0")]), job("l2", "a", [task("l2-0")])]
    changes = run({"n0": node(2)}, [queue("a", 2)], [leaving, stuck, *late])
    assert list(statuses(changes).values()) == ["Pipelined"]


def test_sub_groups_have_their_own_minimum() -> None:
    groups = [
        {"name": "one", "groups": [], "pod_sets": [{"name": "w1", "min_available": 2}], "min_available": 1},
        {"name": "two", "groups": [], "pod_sets": [{"name": "w2", "min_available": 2}], "min_available": 1},
    ]
    tasks = [task(f"t{index}", subgroup=f"w{1 + index // 2}") for index in range(4)]
    tree = {"name": "root", "groups": groups, "pod_sets": [], "min_available": 1}
    nested = job("nested", "a", tasks, subgroups=tree)
    changes = run({"n0": node(3)}, [queue("a", 4)], [nested])
    assert sorted(changes) == ["t0", "t1"]


def test_cpu_and_memory_quotas_bind() -> None:
    limited = queue("a", 4, cpu_milli=quota(-1, 1500), memory_mb=quota(-1, -1))
    jobs = [job("x", "a", [task("x-0")]), job("y", "a", [task("y-0")])]
    assert len(run({"n0": node(4)}, [limited], jobs)) == 1
    in_memory = queue("a", 4, memory_mb=quota(-1, 1.5))
    assert len(run({"n0": node(4)}, [in_memory], jobs)) == 1


def test_weights_may_be_fractions() -> None:
    queues = [queue("a", gpu=0), queue("b", gpu=0)]
    queues[0]["gpu"], queues[1]["gpu"] = quota(0, -1, 0.25), quota(0, -1, 0.75)
    jobs = [job(f"{of}{index}", of, [task(f"{of}{index}-0")]) for of in "ab" for index in range(4)]
    changes = run({"n0": node(4)}, queues, jobs, actions=["allocate"])
    assert sorted(name[0] for name in changes) == ["a", "b", "b", "b"]
