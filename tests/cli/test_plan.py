"""`corral plan`: a snapshot in, a plan for people or programs out."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import Corral
from tests.docs.test_documents import ROOT


def cluster() -> dict[str, Any]:
    return {
        "now": 1000,
        "nodes": [
            {
                "name": "n0",
                "cpu_milli": 8000,
                "memory_mib": 1000,
                "devices": [{"id": "g0", "memory_mib": 80}, {"id": "g1", "memory_mib": 80}],
            }
        ],
        "queues": [{"name": "team", "quotas": {"default": {"gpu_milli": {"guarantee": 0, "limit": 1000}}}}],
        "workloads": [
            {
                "name": "job",
                "queue": "team",
                "groups": [
                    {
                        "name": "main",
                        "minimum": 1,
                        "request": {"devices": {"count": 1}},
                        "replicas": [{"name": "job-0"}, {"name": "job-1"}],
                    }
                ],
            }
        ],
    }


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    file = tmp_path / "snapshot.json"
    file.write_text(json.dumps(cluster()))
    return str(file)


def test_plan_says_what_starts_and_why_the_rest_waits(corral: Corral, snapshot: str) -> None:
    shown = corral("plan", snapshot)
    assert shown.code == 0, shown.err
    assert "1 start, 0 wait for a release, 0 must go, 1 workload waits." in shown.out
    assert "would pass the limit 1 GPU of team" in shown.out


def test_plan_is_json_for_programs(corral: Corral, snapshot: str) -> None:
    shown = corral("plan", snapshot, "--json")
    assert [each["replica"] for each in shown.json["placements"]] == ["job-0"]
    assert shown.json["unplaced"][0]["reason"]["kind"] == "limit"


def test_actions_that_are_left_out_do_nothing(corral: Corral, snapshot: str) -> None:
    assert corral("plan", snapshot, "--actions", "reclaim,preempt", "--json").json["placements"] == []
    refused = corral("plan", snapshot, "--actions", "guess")
    assert refused.code == 1
    assert "There is no action 'guess'." in refused.err


def test_explanation_says_what_would_help(corral: Corral, snapshot: str) -> None:
    shown = corral("plan", snapshot, "--explain", "job")
    assert "if the limit of team were 1 GPU higher" in shown.out
    assert "no workload 'other'" in corral("plan", snapshot, "--explain", "other").err


def test_example_in_the_documents_is_what_the_command_says(corral: Corral, tmp_path: Path) -> None:
    document = (ROOT / "docs" / "scheduling" / "explain.md").read_text()
    blocks = re.findall(r"```(?:json|text)\n(.*?)```", document, re.DOTALL)
    (tmp_path / "snapshot.json").write_text(blocks[0])
    shown = corral("plan", str(tmp_path / "snapshot.json"), "--explain", "notebook")
    command, _, said = blocks[1].partition("\n")
    assert command == "$ corral plan snapshot.json --explain notebook"
    assert [line.rstrip() for line in shown.out.splitlines()] == said.splitlines()


def test_explanation_is_json_for_programs(corral: Corral, snapshot: str) -> None:
    told = corral("plan", snapshot, "--explain", "job", "--json").json
    assert told["reason"]["kind"] == "limit"
    assert [change["kind"] for change in told["changes"]] == ["raise_bounds"]


def test_wrong_places_of_a_snapshot_are_named(corral: Corral, tmp_path: Path) -> None:
    changed = cluster()
    changed["workloads"][0]["queue"] = "nobody"
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(changed))
    refused = corral("plan", str(file))
    assert refused.code == 1
    assert "workloads[0].queue: There is no queue 'nobody'." in refused.err


def test_schema_is_printed_without_a_snapshot(corral: Corral) -> None:
    assert corral("plan", "--schema").json["title"] == "Snapshot"
