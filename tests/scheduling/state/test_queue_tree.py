"""The queue tree: what queues say of themselves, what is charged to them, what is theirs."""

import pytest

from corral.core.queues import Queue, QueuePolicy, Quota
from corral.core.resources import RESOURCES, Amount, Resource
from corral.scheduling.ordering.queue_order import queue_key
from corral.scheduling.state.fair_shares import INFINITE
from corral.scheduling.state.queue_tree import CPU, GPU, MEMORY, QueueState, QueueTree, lowest_common

FIXED = QueuePolicy.FIXED


def queue(
    name: str,
    parent: str | None = None,
    *,
    gpu: Quota | None = None,
    cpu: Quota | None = None,
    memory: Quota | None = None,
    **more: object,
) -> Queue:
    told = dict(zip(RESOURCES, (gpu, cpu, memory), strict=True))
    quotas = {resource: quota for resource, quota in told.items() if quota is not None}
    return Queue(name, parent, quotas={"default": quotas}, **more)  # type: ignore[arg-type]


def states(*queues: Queue) -> dict[str, QueueState]:
    return QueueTree(queues, "default").by_name


def equals(*names: str) -> QueueTree:
    """Queues without a guarantee that want much of everything."""
    quota = Quota(0)
    tree = QueueTree([queue(name, gpu=quota, cpu=quota, memory=quota) for name in names], "default")
    for state in tree.by_name.values():
        state.waiting_demand[:] = [99_000] * 3
    return tree


def test_new_queue_holds_asks_and_owns_nothing() -> None:
    made = states(queue("a"))["a"]
    for numbers in (made.allocated, made.pinned, made.waiting_demand, made.fair, made.allocatable):
        assert numbers == [0, 0, 0]


def test_queue_without_numbers_for_the_pool_divides_nothing() -> None:
    made = QueueTree([Queue("a", quotas={"other": {Resource.GPU_MILLI: Quota(1000)}})], "default").by_name[
        "a"
    ]
    assert made.divided == []
    assert made.guarantee == made.limit == [INFINITE] * 3


def test_resource_with_a_guarantee_or_a_limit_is_divided() -> None:
    quotas = {"gpu": Quota(1000), "cpu": Quota(limit=2000), "memory": Quota()}
    made = states(queue("a", **quotas))["a"]
    assert made.divided == [GPU, CPU]
    assert made.guarantee == [1000, INFINITE, INFINITE]
    assert made.limit == [INFINITE, 2000, INFINITE]


def test_guarantee_of_a_fixed_queue_is_its_limit_unless_that_is_lower() -> None:
    made = states(queue("a", gpu=Quota(1000), cpu=Quota(2000, 500), policy=FIXED))["a"]
    assert made.limit == [1000, 500, INFINITE]


def test_queues_of_equal_standing_are_told_apart_by_age() -> None:
    assert states(queue("a", created=7))["a"].created == 7


def test_run_times_are_inherited_unless_a_queue_has_its_own() -> None:
    made = states(
        queue(
            "top",
            reclaim_min_runtime_seconds=600,
            preempt_min_runtime_seconds=300,
            typical_runtime_seconds=60,
        ),
        queue("heir", "top"),
        queue(
            "own",
            "top",
            reclaim_min_runtime_seconds=0,
            preempt_min_runtime_seconds=5,
            typical_runtime_seconds=7,
        ),
        queue("alone"),
    )

    def times(name: str) -> tuple[int, int, int | None]:
        state = made[name]
        return state.reclaim_min_runtime, state.preempt_min_runtime, state.learnt.typical

    assert times("top") == times("heir") == (600, 300, 60)
    assert times("own") == (0, 5, 7)
    assert times("alone") == (0, 0, None)


def test_charge_goes_up_the_tree_and_comes_back_in_whole_numbers() -> None:
    made = states(queue("top"), queue("a", "top"), queue("b", "top"))
    made["a"].charge(Amount(1000, 200, 30), preemptible=True, sign=1)
    made["a"].charge(Amount(500, 50, 5), preemptible=False, sign=1)
    made["b"].charge(Amount(1000, 300, 70), preemptible=False, sign=1)
    made["a"].charge(Amount(1000, 200, 30), preemptible=True, sign=-1)
    assert made["a"].allocated == made["a"].pinned == [500, 50, 5]
    assert made["top"].allocated == made["top"].pinned == [1500, 350, 75]
    made["b"].charge(Amount(1000, 300, 70), preemptible=False, sign=-1)
    assert made["b"].allocated == made["b"].pinned == [0, 0, 0]
    assert made["top"].pinned == [500, 50, 5]
    for state in made.values():
        assert all(isinstance(number, int) for number in [*state.allocated, *state.pinned])


def test_preemptible_work_is_not_pinned() -> None:
    made = states(queue("a"))["a"]
    made.charge(Amount(1000, 200, 30), preemptible=True, sign=1)
    assert (made.allocated, made.pinned) == ([1000, 200, 30], [0, 0, 0])


def test_every_charge_gives_a_queue_and_those_above_a_new_stamp() -> None:
    made = states(queue("top"), queue("a", "top"))
    seen = []
    for sign in (1, -1, 1):
        made["a"].charge(Amount(1000), preemptible=True, sign=sign)
        seen.append((made["a"].stamp, made["top"].stamp))
    assert len({own for own, _ in seen}) == len({above for _, above in seen}) == 3


def test_what_exceeds_a_bound_in_one_divided_resource_exceeds_it() -> None:
    made = states(queue("a", gpu=Quota(1000), cpu=Quota(1000)))["a"]
    assert not made.exceeds([5, 5, 5], [5, 5, 9])
    assert made.exceeds([5, 5, 5], [5, 6, 5])


def test_a_queue_is_over_its_share_only_in_every_resource_that_has_a_quota() -> None:
    made = states(queue("a", gpu=Quota(1000), cpu=Quota(100)))["a"]
    made.fair = [1000, 100, 0]
    assert [queue_key(made, held)[0] for held in ([2000, 100, 0], [1000, 200, 0], [2000, 200, 0])] == [
        False,
        False,
        True,
    ]


def test_a_queue_that_has_all_of_a_resource_is_never_over_its_share() -> None:
    made = states(queue("a", gpu=Quota(1000), memory=Quota()))["a"]
    made.fair = [1000, 0, 0]
    assert not queue_key(made, [2000, 0, 0])[0]


def test_siblings_below_the_lowest_common_parent() -> None:
    made = states(
        queue("top"),
        queue("near", "top"),
        queue("deep", "near"),
        queue("taker", "deep"),
        queue("far", "top"),
        queue("victim", "far"),
        queue("beside", "deep"),
    )
    assert lowest_common(made["taker"], made["victim"]) == (made["near"], made["far"])
    assert lowest_common(made["victim"], made["taker"]) == (made["far"], made["near"])
    assert lowest_common(made["taker"], made["beside"]) == (made["taker"], made["beside"])


def test_queues_on_one_path_have_no_sides() -> None:
    made = states(queue("top"), queue("a", "top"))
    with pytest.raises(ValueError, match=r"^a and top are on one path$"):
        lowest_common(made["a"], made["top"])


def test_unused_guarantees_of_fixed_queues_are_kept_from_others() -> None:
    tree = QueueTree(
        [
            queue("one", gpu=Quota(3000), cpu=Quota(700), policy=FIXED),
            queue("below", "one", gpu=Quota(9000), policy=FIXED),
            queue("two", gpu=Quota(2000), policy=FIXED),
            queue("other", gpu=Quota(5000)),
        ],
        "default",
    )
    one, two, other = (tree.by_name[name] for name in ("one", "two", "other"))
    one.allocated[GPU] = 1000
    assert tree.kept_by_others(other) == [4000, 700, 0]
    two.allocated[GPU] = 2000
    assert tree.kept_by_others(other) == [2000, 700, 0]
    assert tree.kept_by_others(tree.by_name["below"]) == [0, 0, 0]
    assert tree.fixed == [one, two]


def test_fixed_queue_far_below_another_is_part_of_it() -> None:
    tree = QueueTree(
        [
            queue("outer", gpu=Quota(3000), policy=FIXED),
            queue("middle", "outer"),
            queue("inner", "middle", gpu=Quota(1000), policy=FIXED),
        ],
        "default",
    )
    assert tree.fixed == [tree.by_name["outer"]]


def test_children_divide_what_their_parent_got_in_every_resource() -> None:
    quota, plain = Quota(0), Quota(0, weight=3)
    tree = QueueTree(
        [
            queue("top", gpu=quota, cpu=quota, memory=quota),
            queue("a", "top", gpu=quota, cpu=quota, memory=quota),
            queue("b", "top", gpu=plain, cpu=plain, memory=plain),
            queue("rest", gpu=quota, cpu=quota, memory=quota),
        ],
        "default",
    )
    for state in tree.by_name.values():
        state.waiting_demand[:] = [99_000] * 3
    tree.divide(Amount(8000, 80, 800), 1000, 0)
    assert tree.total == Amount(8000, 80, 800)
    shares = {name: state.fair for name, state in tree.by_name.items()}
    assert shares == {
        "top": [4000, 40, 400],
        "a": [1000, 10, 100],
        "b": [3000, 30, 300],
        "rest": [4000, 40, 400],
    }


def test_only_gpus_are_divided_in_the_unit_of_the_pool() -> None:
    tree = equals(*"ab")
    tree.divide(Amount(3000, 3001, 3001), 1000, 0)
    assert tree.by_name["a"].fair == [2000, 1501, 1501]
    assert tree.by_name["b"].fair == [1000, 1500, 1500]


def test_what_is_held_and_what_is_asked_for_are_both_wanted() -> None:
    made = QueueTree([queue("a", gpu=Quota(0))], "default")
    made.by_name["a"].allocated[GPU], made.by_name["a"].waiting_demand[GPU] = 1000, 2000
    made.divide(Amount(8000), 1000, 0)
    assert made.by_name["a"].fair[GPU] == 3000


def test_allocatable_is_the_larger_of_guarantee_and_share_up_to_the_limit() -> None:
    tree = QueueTree(
        [
            queue("idle", gpu=Quota(2000)),
            queue("busy", gpu=Quota(1000)),
            queue("low", gpu=Quota(3000, 2000)),
        ],
        "default",
    )
    tree.by_name["busy"].waiting_demand[GPU] = 5000
    tree.by_name["low"].waiting_demand[GPU] = 5000
    tree.divide(Amount(6000), 1000, 0)
    allocatable = {name: state.allocatable[GPU] for name, state in tree.by_name.items()}
    assert allocatable == {"idle": 2000, "busy": 4000, "low": 2000}


def test_priority_age_name_usage_and_policy_reach_the_division() -> None:
    tree = QueueTree(
        [
            queue("old", gpu=Quota(0), created=1),
            queue("b-young", gpu=Quota(0), created=2),
            queue("a-young", gpu=Quota(0), created=2),
            queue("first", gpu=Quota(0, 3000), priority=1, created=9),
            queue("fixed", gpu=Quota(1000), policy=FIXED),
        ],
        "default",
    )
    for state in tree.by_name.values():
        state.waiting_demand[GPU] = 99_000
    tree.divide(Amount(9000), 1000, 0)
    shares = {name: state.fair[GPU] for name, state in tree.by_name.items()}
    # 9 without 1 of the fixed one and 3 of the first are 5 for three: the oldest, then the first name.
    assert shares == {"first": 3000, "fixed": 1000, "old": 2000, "a-young": 2000, "b-young": 1000}


def test_recent_usage_reaches_the_division_at_every_level() -> None:
    busy, idle = Quota(0, usage_ppm=750_000), Quota(0, usage_ppm=250_000)
    tree = QueueTree(
        [queue("top", gpu=Quota(0)), queue("a", "top", gpu=busy), queue("b", "top", gpu=idle)], "default"
    )
    for state in tree.by_name.values():
        state.waiting_demand[GPU] = 99_000
    tree.divide(Amount(16_000), 1000, 1000)
    assert (tree.by_name["a"].fair[GPU], tree.by_name["b"].fair[GPU]) == (4000, 12_000)


def test_fixed_queue_keeps_what_it_does_not_use_from_its_siblings() -> None:
    tree = QueueTree([queue("a", gpu=Quota(2000), policy=FIXED), queue("b", gpu=Quota(0))], "default")
    tree.by_name["b"].waiting_demand[GPU] = 99_000
    tree.divide(Amount(4000), 1000, 0)
    assert tree.by_name["b"].fair[GPU] == 2000


def test_other_numbers_are_taken_over_and_another_tree_is_refused() -> None:
    tree = QueueTree([queue("top"), queue("a", "top", gpu=Quota(1000))], "default")
    assert tree.change([queue("a", "top", gpu=Quota(2000), policy=FIXED), queue("top", priority=3)])
    assert tree.by_name["a"].guarantee[GPU] == 2000
    assert tree.by_name["top"].priority == 3
    assert tree.fixed == [tree.by_name["a"]]
    assert not tree.change([queue("top"), queue("a", gpu=Quota(3000))])
    assert not tree.change([queue("top")])
    assert tree.by_name["a"].guarantee[GPU] == 2000


def test_memory_of_a_queue_is_divided_where_it_says_so() -> None:
    assert states(queue("a", memory=Quota(5)))["a"].divided == [MEMORY]


def test_equal_siblings_are_told_apart_by_name_whatever_is_below_them() -> None:
    tree = QueueTree([queue("b", "z"), queue("c", gpu=Quota(0)), queue("z", gpu=Quota(0))], "default")
    for state in tree.by_name.values():
        state.waiting_demand[GPU] = 9000
    tree.divide(Amount(1000), 1000, 0)
    assert (tree.by_name["c"].fair[GPU], tree.by_name["z"].fair[GPU]) == (1000, 0)


def test_millicores_and_mebibytes_are_divided_one_by_one() -> None:
    tree = equals(*"abc")
    tree.divide(Amount(3000, 3, 3), 1000, 0)
    assert [tree.by_name[name].fair for name in "abc"] == [[1000, 1, 1]] * 3


def test_size_of_a_queue_is_what_it_may_have_of_what_is_divided() -> None:
    tree = QueueTree([queue("a", gpu=Quota(2000), memory=Quota(70)), queue("b", cpu=Quota(3))], "default")
    tree.divide(Amount(4000, 40, 400), 1000, 0)
    assert {name: state.sizes for name, state in tree.by_name.items()} == {"a": (2000, 0, 70), "b": (0, 3, 0)}
