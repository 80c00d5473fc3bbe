"""`corral simulate`: work on a cluster that is not there, policies side by side."""

from pathlib import Path

import pytest

from tests.cli.running import Corral

SMALL = ("--nodes", "1x4xH100-80GB", "--jobs")


@pytest.fixture
def work(tmp_path: Path) -> str:
    """Vision waits behind itself in a fixed half, while the half of language stands idle."""
    file = tmp_path / "work.csv"
    file.write_text("queue,arrives,seconds,gpus\nvision,0,600,2\nvision,0,600,2\nlanguage,5000,60,1\n")
    return str(file)


def test_policies_are_compared_and_it_says_that_it_is_simulated(corral: Corral, work: str) -> None:
    shown = corral("simulate", *SMALL, work, "--policy", "fixed", "--policy", "elastic")
    assert shown.code == 0, shown.err
    assert shown.out.startswith("Simulated: 3 workloads of work.csv on 1 nodes with 4 GPUs.")
    (waits,) = (line.split("\t") for line in shown.out.splitlines() if line.startswith("Mean wait\t"))
    assert waits == ["Mean wait", "3 min 20 s", "0 s"]
    assert "fixed, by queue" in shown.out


def test_numbers_are_json_for_programs(corral: Corral, work: str) -> None:
    shown = corral("simulate", *SMALL, work, "--policy", "fixed", "--json").json
    assert shown["simulated"] is True
    (fixed,) = shown["policies"]
    vision = next(queue for queue in fixed["queues"] if queue["queue"] == "vision")
    assert vision["guarantee_gpus"] == 2
    assert vision["wait"]["longest"] == 600
    assert fixed["all"]["finished"] == 3


def test_same_seed_makes_the_same_work(corral: Corral) -> None:
    arguments = ("simulate", *SMALL, "synthetic:hours=3", "--seed", "7", "--json")
    first, second = corral(*arguments).json, corral(*arguments).json
    for shown in (first, second):
        del shown["policies"][0]["plan_cpu_seconds"]
    assert first == second
    assert corral("simulate", *SMALL, "synthetic:hours=3", "--seed", "8", "--json").json != first


def test_guarantees_can_be_given(corral: Corral, work: str) -> None:
    shown = corral("simulate", *SMALL, work, "--queues", "vision=4", "--policy", "fixed", "--json").json
    by_name = {queue["queue"]: queue for queue in shown["policies"][0]["queues"]}
    assert by_name["vision"]["wait"]["longest"] == 0
    assert by_name["language"]["started"] == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--policy", "generous"), "There is no policy 'generous'. Use some of: elastic, fixed"),
        (("--policy", "fixed,elastic"), "elastic and fixed exclude each other. Keep one"),
        (("--nodes", "many"), "'many' says no nodes. Write nodes x devices x model"),
        (("--nodes", "0x8xH100-80GB"), "is 0 nodes with 8 devices"),
        (("--jobs", "nowhere.csv"), "nowhere.csv: The file cannot be read"),
        (("--jobs", "synthetic:hours=x"), "'hours=x' says nothing about made-up work. Write a number"),
        (("--queues", "team-1"), "'team-1' gives no guarantee. Write name=GPUs"),
        (("--queues", "team-9=1"), "No work is in queue 'team-9'. Queues are team-1"),
        (("--queues", "team-1=999"), "The guarantees are 999 GPUs, the cluster has 32"),
    ],
)
def test_what_cannot_be_simulated_is_named_with_its_remedy(
    corral: Corral, arguments: tuple[str, ...], told: str
) -> None:
    refused = corral("simulate", *arguments)
    assert refused.code == 1
    assert told in refused.err


def test_wrong_line_of_a_table_is_named(corral: Corral, tmp_path: Path) -> None:
    file = tmp_path / "work.csv"
    file.write_text("queue,arrives,seconds,gpus\nvision,0,600,2\nvision,soon,600,2\n")
    refused = corral("simulate", "--jobs", str(file))
    assert f"{file}, line 3, arrives: 'soon' is not a number. Write a number" in refused.err


def test_report_is_written_and_named(corral: Corral, work: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    shown = corral("simulate", *SMALL, work, "--policy", "fixed", "--report", str(file))
    assert f"The report is in {file}." in shown.out
    assert file.read_text().startswith("<!DOCTYPE html>")
    refused = corral("simulate", *SMALL, work, "--report", str(tmp_path / "absent" / "report.html"))
    assert refused.code == 1
    assert "--report:" in refused.err
    assert "Name a file in a folder that is there." in refused.err
