"""Who may lose what to a taker, bound by bound: numbers in milli-GPU and millicores."""

from types import SimpleNamespace
from typing import Any

import pytest

from corral.core.devices import Device, DeviceUse
from corral.core.nodes import Node
from corral.core.plans import Action, Entitlement
from corral.core.queues import Queue, Quota
from corral.core.resources import RESOURCES, Amount, Resource
from corral.core.workloads import DeviceRequest, Replica, ReplicaGroup, ReplicaState, Request, Workload
from corral.scheduling.actions.reclaim import ReclaimRules
from corral.scheduling.planning.planner_state import PlannerState, schedule
from corral.scheduling.state.queue_tree import CPU, GPU, QueueState, QueueTree
from corral.scheduling.validate.snapshot import Snapshot

TINY = 1


def tree(**parents: str | None) -> dict[str, QueueState]:
    """Queues of which GPUs are divided, with a guarantee of nothing, that hold nothing."""
    queues = [
        Queue(name, parent, quotas={"default": {Resource.GPU_MILLI: Quota(0)}})
        for name, parent in parents.items()
    ]
    return QueueTree(queues, "default").by_name


def stand(queue: QueueState, kind: int = GPU, **numbers: int) -> None:
    """Sets what a queue is guaranteed or holds of a resource; other numbers of that resource stay."""
    for name, number in numbers.items():
        getattr(queue, name)[kind] = number
    if kind not in queue.divided:
        queue.divided.append(kind)


def rules(leaf: QueueState, gpu: int = 0, cpu: int = 0) -> ReclaimRules:
    taker: Any = SimpleNamespace(queue=leaf)
    chunk: Any = SimpleNamespace(amount=Amount(gpu, cpu))
    return ReclaimRules(taker, chunk)


def chunk(leaf: QueueState, *amount: int) -> Any:
    return SimpleNamespace(work=SimpleNamespace(queue=leaf), amount=Amount(*amount))


def test_side_above_its_allocatable_share_may_lose() -> None:
    queues = tree(taker=None, other=None)
    stand(queues["other"], allocated=3001, allocatable=3000)
    assert rules(queues["taker"], 1000).may_lose(queues["other"], {})
    stand(queues["other"], allocated=3000)
    assert not rules(queues["taker"], 1000).may_lose(queues["other"], {})


def test_leaf_at_its_guarantee_loses_nothing_though_its_parent_is_over() -> None:
    queues = tree(taker=None, dept=None, other="dept")
    stand(queues["dept"], allocated=5000, allocatable=1000)
    stand(queues["other"], allocated=2000, guarantee=2000)
    assert not rules(queues["taker"], 1000).may_lose(queues["other"], {})
    stand(queues["other"], allocated=2001)
    assert rules(queues["taker"], 1000).may_lose(queues["other"], {})


def test_taker_that_stays_inside_its_guarantee_takes_what_is_above_one() -> None:
    queues = tree(taker=None, other=None)
    stand(queues["taker"], allocated=1000, guarantee=2000)
    stand(queues["other"], allocated=2000, guarantee=1000, allocatable=4000)
    assert rules(queues["taker"], 1000).may_lose(queues["other"], {})
    assert not rules(queues["taker"], 1001).may_lose(queues["other"], {})


def test_taker_inside_its_guarantee_takes_nothing_of_a_side_inside_its_own() -> None:
    queues = tree(taker=None, dept=None, other="dept")
    stand(queues["taker"], guarantee=2000)
    stand(queues["dept"], allocated=2000, guarantee=2000, allocatable=4000)
    stand(queues["other"], allocated=2000, guarantee=1000)
    assert not rules(queues["taker"], 1000).may_lose(queues["other"], {})


def test_every_divided_resource_of_the_taker_stays_inside() -> None:
    queues = tree(taker=None, other=None)
    stand(queues["taker"], guarantee=2000)
    stand(queues["taker"], CPU, guarantee=500)
    stand(queues["other"], allocated=2000, guarantee=1000, allocatable=4000)
    assert rules(queues["taker"], 1000, 500).may_lose(queues["other"], {})
    assert not rules(queues["taker"], 1000, 501).may_lose(queues["other"], {})


def test_sides_are_compared_below_the_lowest_common_parent() -> None:
    queues = tree(top=None, near="top", taker="near", far="top", other="far")
    stand(queues["near"], allocated=0, guarantee=2000)
    stand(queues["far"], allocated=2000, guarantee=1000, allocatable=4000)
    stand(queues["other"], allocated=2000)
    assert rules(queues["taker"], 2000).may_lose(queues["other"], {})
    assert not rules(queues["taker"], 2001).may_lose(queues["other"], {})


def test_what_was_there_before_the_trial_counts_not_what_the_trial_made_of_it() -> None:
    queues = tree(taker=None, other=None)
    stand(queues["taker"], allocated=1000, guarantee=2000)
    stand(queues["other"], allocated=2000, guarantee=1000, allocatable=4000)
    judge = rules(queues["taker"], 1000)
    judge.remember([queues["other"]])
    stand(queues["taker"], allocated=2000)
    stand(queues["other"], allocated=1000)
    assert judge.may_lose(queues["other"], {})


@pytest.mark.parametrize("kind", range(len(RESOURCES)))
def test_chunks_go_while_more_than_the_bound_is_left(kind: int) -> None:
    queues = tree(taker=None, other=None)
    stand(queues["other"], kind, allocated=3000 + TINY, guarantee=0, allocatable=1000)
    amount = [0, 0, 0]
    amount[kind] = 1000
    one = chunk(queues["other"], *amount)
    judge = rules(queues["taker"], 1000)
    assert judge.accept([one, one, one])
    assert not judge.accept([one, one, one, one])
    stand(queues["other"], kind, allocated=3000)
    assert not judge.accept([one, one, one])


def test_each_side_is_counted_for_itself() -> None:
    queues = tree(taker=None, one=None, two=None)
    stand(queues["one"], allocated=2000, allocatable=1000)
    stand(queues["two"], allocated=2000, allocatable=1000)
    assert rules(queues["taker"], 2000).accept([chunk(queues["one"], 1000), chunk(queues["two"], 1000)])


def test_leaves_of_one_side_share_what_it_may_lose() -> None:
    queues = tree(taker=None, dept=None, one="dept", two="dept")
    stand(queues["dept"], allocated=4000, allocatable=3000)
    for name in ("one", "two"):
        stand(queues[name], allocated=2000)
    judge = rules(queues["taker"], 2000)
    assert judge.accept([chunk(queues["one"], 1000)])
    assert not judge.accept([chunk(queues["one"], 1000), chunk(queues["two"], 1000)])


def saturated() -> dict[str, QueueState]:
    """The taker's side is at five thirds of its share, the side that lost something at four thirds."""
    queues = tree(near=None, taker="near", far=None, other="far")
    stand(queues["near"], allocated=5000, fair=3000)
    stand(queues["taker"], allocated=1000, fair=1000)
    stand(queues["far"], allocated=4000, fair=3000, allocatable=1000)
    stand(queues["other"], allocated=4000, fair=1000)
    return queues


def ends_well(queues: dict[str, QueueState]) -> bool:
    return rules(queues["taker"], 1000).accept([chunk(queues["other"], 1000)])


def test_nobody_ends_more_saturated_than_a_sibling_that_lost() -> None:
    assert not ends_well(saturated())


def test_ending_as_saturated_as_a_sibling_that_lost_is_allowed() -> None:
    queues = saturated()
    stand(queues["far"], allocated=5000)
    assert ends_well(queues)


def test_side_inside_its_fair_share_is_not_saturated() -> None:
    queues = saturated()
    stand(queues["near"], allocated=3000)
    stand(queues["far"], allocated=2000)
    assert ends_well(queues)


def test_only_siblings_are_compared_by_saturation() -> None:
    queues = saturated()
    stand(queues["far"], allocated=5000)
    stand(queues["other"], allocated=1000, fair=9000)
    assert ends_well(queues)


def test_sibling_that_lost_nothing_may_be_less_saturated() -> None:
    queues = tree(near=None, taker="near", far=None, other="far", third=None)
    stand(queues["near"], allocated=5000, fair=3000)
    stand(queues["far"], allocated=6000, fair=3000, allocatable=1000)
    stand(queues["other"], allocated=6000)
    stand(queues["third"], allocated=0, fair=3000)
    assert ends_well(queues)


def test_saturation_counts_in_every_divided_resource() -> None:
    queues = saturated()
    stand(queues["near"], allocated=3000)
    stand(queues["near"], CPU, allocated=9000, fair=4000)
    stand(queues["far"], CPU, allocated=5000, fair=4000)
    assert not ends_well(queues)


def test_most_that_may_be_lost_reaches_below_the_bound_by_all_but_one_of_the_largest() -> None:
    queues = tree(taker=None, other=None)
    stand(queues["other"], allocated=5000, guarantee=2000, allocatable=3000)
    assert rules(queues["taker"], 1000).most_lost({queues["other"]: 1000}) == 2999


def test_most_that_may_be_lost_to_a_taker_inside_its_guarantee_is_more() -> None:
    queues = tree(taker=None, dept=None, one="dept", two="dept")
    stand(queues["taker"], guarantee=1000)
    stand(queues["dept"], allocated=6000, guarantee=2000, allocatable=4000)
    for name in ("one", "two"):
        stand(queues[name], allocated=3000)
    largest = {queues["one"]: 1000, queues["two"]: 500}
    assert rules(queues["taker"], 1000).most_lost(largest) == 4999
    assert rules(queues["taker"], 1001).most_lost(largest) == 2999


def test_most_that_may_be_lost_follows_the_lower_bound() -> None:
    # A limit below the guarantee: allocatable is what it is guaranteed, as far as the limit lets it.
    queues = tree(taker=None, dept=None, one="dept", two="dept")
    stand(queues["taker"], guarantee=1000)
    stand(queues["dept"], allocated=6000, guarantee=4000, allocatable=3000)
    for name in ("one", "two"):
        stand(queues[name], allocated=3000)
    assert rules(queues["taker"], 1000).most_lost({queues["one"]: 500, queues["two"]: 1000}) == 3999


def test_most_that_leaves_may_lose_is_summed_up_and_so_are_sides() -> None:
    queues = tree(taker=None, dept=None, one="dept", two="dept", other=None)
    stand(queues["dept"], allocated=9000)
    for name in ("one", "two"):
        stand(queues[name], allocated=3000, guarantee=2000)
    stand(queues["other"], allocated=2000, allocatable=1000)
    judge = rules(queues["taker"], 1000)
    below = {queues["one"]: 1000, queues["two"]: 500}
    assert judge.most_lost(below) == 1999 + 1499
    assert judge.most_lost({**below, queues["other"]: 100}) == 1999 + 1499 + 1099


def test_side_below_its_bound_adds_nothing_to_the_most_that_may_be_lost() -> None:
    queues = tree(taker=None, other=None)
    stand(queues["other"], allocated=1000, allocatable=3000)
    assert rules(queues["taker"], 1000).most_lost({queues["other"]: 500}) == 0


@pytest.mark.parametrize("over", ["other", "dept"])
def test_most_that_may_be_lost_is_unknown_where_more_than_gpus_is_above_a_bound(over: str) -> None:
    queues = tree(taker=None, dept=None, other="dept")
    for name in ("dept", "other"):
        stand(queues[name], allocated=2000)
        stand(queues[name], CPU, allocated=500, guarantee=500, allocatable=500)
    judge = rules(queues["taker"], 1000)
    assert judge.most_lost({queues["other"]: 1000}) == 2999
    stand(queues[over], CPU, allocated=501)
    assert judge.most_lost({queues["other"]: 1000}) is None


def one_gpu(name: str, replica: Replica) -> Workload:
    group = ReplicaGroup("main", 1, Request(1000, 1000, DeviceRequest(1)), (replica,))
    return Workload(name, name, (group,))


def test_who_took_what_it_needs_has_no_search_that_failed() -> None:
    node = Node("n", 8000, 8000, devices=(Device("g", 100),))
    queues = [
        Queue(name, quotas={"default": {Resource.GPU_MILLI: Quota(guarantee)}})
        for name, guarantee in (("hog", 0), ("owner", 1000))
    ]
    hog = one_gpu("hog", Replica("hog", ReplicaState.RUNNING, "n", (DeviceUse("g"),)))
    planner = PlannerState(Snapshot(1000, (node,), tuple(queues), (hog, one_gpu("owner", Replica("owner")))))
    with planner.cycles_after(1000, [Action.RECLAIM]) as (cycle,):
        assert {work.name for work in cycle.board.moved()} == {"hog", "owner"}
        assert cycle.searches == {}


@pytest.mark.parametrize(
    ("guarantee", "entitlement"), [(1000, Entitlement.GUARANTEE), (0, Entitlement.SURPLUS)]
)
def test_eviction_says_whether_a_guarantee_or_surplus_is_reclaimed(
    guarantee: int, entitlement: Entitlement
) -> None:
    node = Node("n", 8000, 8000, devices=(Device("g0", 100), Device("g1", 100)))
    queues = tuple(
        Queue(name, quotas={"default": {Resource.GPU_MILLI: Quota(owned)}})
        for name, owned in (("hog", 0), ("owner", guarantee))
    )
    replicas = tuple(
        Replica(f"hog-{index}", ReplicaState.RUNNING, "n", (DeviceUse(f"g{index}"),)) for index in (0, 1)
    )
    group = ReplicaGroup("main", 1, Request(1000, 1000, DeviceRequest(1)), replicas)
    work = (Workload("hog", "hog", (group,)), one_gpu("owner", Replica("owner")))
    (eviction,) = schedule(Snapshot(1000, (node,), queues, work)).evictions
    assert (eviction.rule, eviction.for_workload, eviction.entitlement) == (
        Action.RECLAIM,
        "owner",
        entitlement,
    )
