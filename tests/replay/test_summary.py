"""Numbers of a replay: what they count and what they leave out."""

import numpy as np
import pytest

from corral.core.nodes import Node
from corral.replay.jobs import Job
from corral.replay.nodes import make_nodes, parse_nodes
from corral.replay.policy import parse_policy
from corral.replay.record import Changes
from corral.replay.run import replay
from corral.replay.series import interval_means
from corral.replay.settings import Settings
from corral.replay.summary import Summary, spread
from corral.replay.synthetic import Recipe, make_jobs
from corral.replay.words import duration
from tests.replay.test_loop import job


def summary(jobs: list[Job], guarantees: dict[str, int], policy: str, nodes: tuple[Node, ...]) -> Summary:
    return replay(parse_policy(policy), nodes, guarantees, jobs, Settings()).summary


def test_interval_means_are_those_of_the_steps() -> None:
    changes = Changes()
    for at, key, amount in [(0, 0, 10), (5, 1, 4), (15, 0, -10), (20, 1, -4)]:
        changes.add(at, key, amount)
    means = interval_means(changes, 3, np.array([0.0, 10.0, 20.0, 30.0]))
    assert means.tolist() == [[10, 5, 0], [2, 4, 0], [0, 0, 0]]


def test_percentiles_are_values_that_occur() -> None:
    found = spread([*range(1, 101)])
    assert (found.mean, found.p50, found.p90, found.p99, found.longest) == (50.5, 50, 90, 99, 100)
    assert spread([]).p50 is None


def test_allocated_counts_until_the_last_arrival() -> None:
    nodes = make_nodes(1, 4, "H100", 81920)
    jobs = [job("a", "team", 0, 10_000, 2), job("b", "team", 1000, 10)]
    found = summary(jobs, {"team": 4}, "elastic", nodes)
    assert found.allocated_percent == pytest.approx(50, abs=0.1)


def test_idle_devices_of_partly_used_nodes_are_fragments() -> None:
    nodes = make_nodes(2, 4, "H100", 81920)
    jobs = [job("a", "team", 0, 1000, 3)]
    assert summary(jobs, {"team": 8}, "elastic", nodes).fragmented_percent == 20.0


def test_queue_that_gets_what_it_may_has_all_of_its_share() -> None:
    nodes = make_nodes(1, 4, "H100", 81920)
    jobs = [job("a", "left", 0, 1000, 2), job("b", "right", 0, 1000, 2), job("tick", "left", 900, 1)]
    fixed = summary(jobs, {"left": 2, "right": 2}, "fixed", nodes)
    assert [queue.of_share_percent for queue in fixed.queues] == [100.0, 100.0]


def test_queue_that_waits_for_its_guarantee_lacks_a_part_of_its_share() -> None:
    nodes = make_nodes(1, 4, "H100", 81920)
    # The owner wants all of it from 100 on, has it from 130 to 200, and nothing after that.
    jobs = [
        job("guest", "right", 0, 10_000, 4),
        job("own", "left", 100, 70, 4),
        job("tick", "right", 1000, 1),
    ]
    found = summary(jobs, {"left": 4, "right": 0}, "elastic", nodes)
    left = next(queue for queue in found.queues if queue.queue == "left")
    assert left.of_share_percent == pytest.approx(70, abs=1)


def test_made_up_work_asks_for_the_load() -> None:
    jobs = make_jobs(Recipe(hours=48, load_percent=80), 64, 8, seed=1)
    asked = sum(each.work_seconds * each.gpu_milli for each in jobs) / (64_000 * 48 * 3600)
    assert asked == pytest.approx(0.8, abs=0.1)
    assert jobs == make_jobs(Recipe(hours=48, load_percent=80), 64, 8, seed=1)
    assert {each.queue for each in jobs} == {"team-1", "team-2", "team-3"}


def test_nodes_of_several_kinds_have_names_of_their_own() -> None:
    nodes = parse_nodes("2x8xH100-80GB, 3x4xA10-24GiB")
    assert len({node.name for node in nodes}) == 5
    assert [len(node.devices) for node in nodes] == [8, 8, 4, 4, 4]
    assert nodes[-1].devices[0].memory_mib == 24 * 1024


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 s"), (59.4, "59 s"), (720, "12 min"), (7440, "2 h 4 min"), (277_200, "3 d 5 h"), (None, "")],
)
def test_durations_are_told_as_people_read_them(seconds: float | None, told: str) -> None:
    assert duration(seconds) == told
