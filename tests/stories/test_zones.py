"""Two zones in one Corral: work of each goes on while the process that serves the API is killed."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from corral_sdk import CorralError, Problem

from tests.chaos.storm import assert_invariants_hold, below
from tests.live import LiveCorral, running_corral
from tests.stories.people import Person, administrator, wait_for

WAITS = """
import pathlib, time
while not pathlib.Path("enough").exists():
    time.sleep(0.05)
print("done")
"""
COURSE = ["queued", "starting", "running", "succeeded"]
SIMULATED_SECONDS = 20


@pytest.fixture
def corral(tmp_path: Path) -> Iterator[LiveCorral]:
    with running_corral(tmp_path, environment={"CORRAL_SIMULATED_GPUS": "2xL4-24GB"}) as running:
        yield running


def test_work_of_two_zones_survives_the_killed_api(corral: LiveCorral) -> None:
    admin = administrator(corral)
    lab = admin.call("POST", "/zones", {"name": "lab", "nodes": "2x4xH100-80GB"})
    wait_for(lambda: zone(admin, lab["id"]), lambda seen: seen["state"] == "ready")
    here = admin.submit("here", ["python3", "-c", WAITS], gpus=1, zone="local")
    simulation = {"duration": SIMULATED_SECONDS}
    there = admin.submit("there", ["true"], gpus=4, replicas=2, zone="lab", simulation=simulation)
    admin.wait(here, "running")
    seen = admin.wait(there, "running")
    assert (seen["zone_name"], seen["zone_reason"], len(seen["nodes"])) == ("lab", "named", 2)

    kill_api(corral)
    admin = administrator(corral)
    assert [admin.look(one)["state"] for one in (here, there)] == ["running", "running"]
    with pytest.raises(Problem, match="Work is still in it: there"):
        admin.call("DELETE", f"/zones/{lab['id']}")
    (corral.home / "work" / "workspaces" / here / "enough").touch()

    for one in (here, there):
        over = admin.wait(one, "succeeded")
        assert (over["attempt"], over["exit_code"]) == (1, 0)
        assert [step["state"] for step in over["transitions"]] == [
            "queued",
            "starting",
            "running",
            "succeeded",
        ]
    assert admin.output(here, 1) == "done\n"
    used = wait_for(lambda: gpu_seconds(admin, there), lambda seconds: seconds >= 8 * SIMULATED_SECONDS)
    assert used < 8 * (SIMULATED_SECONDS + 10)
    assert gpu_seconds(admin, here) > 0

    admin.call("DELETE", f"/zones/{lab['id']}")
    assert [one["name"] for one in admin.call("GET", "/zones")["items"]] == ["local"]
    assert {one["zone_name"] for one in admin.call("GET", "/nodes")["items"]} == {"local"}
    assert admin.look(there)["state"] == "succeeded"
    assert gpu_seconds(admin, there) == used
    assert corral.stop() == 0
    assert_invariants_hold(corral.home)


def test_moves_between_zones_survive_the_killed_api(tmp_path: Path) -> None:
    """The process is killed while it moves queued work: each runs whole, once, in one of the zones."""
    environment = {"CORRAL_SIMULATED_GPUS": "none", "CORRAL_ZONE_MOVE_SECONDS": "1"}
    with running_corral(tmp_path, environment=environment) as corral:
        admin = administrator(corral)
        for name in ("lab", "den"):
            added = admin.call("POST", "/zones", {"name": name, "nodes": "1x4xH100-80GB"})
            wait_for(partial(zone, admin, added["id"]), lambda seen: seen["state"] == "ready")
        simulation = {"duration": 3}
        blocks = admin.submit("blocks", ["true"], gpus=4, zone="den", simulation={"duration": 600})
        admin.wait(blocks, "running")
        works = [
            admin.submit(f"work-{number}", ["true"], gpus=2, replicas=2, simulation=simulation)
            for number in range(6)
        ]
        assert {admin.look(one)["zone_name"] for one in works} == {"lab"}
        admin.call("POST", f"/workloads/{blocks}/stop")
        wait_for(lambda: moved(admin, works), bool)
        kill_api(corral)
        admin = administrator(corral)
        over = [admin.wait(one, "succeeded") for one in works]
        assert "den" in {one["zone_name"] for one in over}
        for one in over:
            assert one["attempt"] == 1
            states = [step["state"] for step in one["transitions"]]
            # That it ran is not written down if nobody was there to see it.
            assert [state for state in states if state not in {"queued", "running"}] == [
                "starting",
                "succeeded",
            ]
            # The document changes with the zone and with nothing else.
            moves = sum(step["reason"]["why"] == "moved" for step in one["transitions"])
            assert one["generation"] == 1 + moves
            wait_for(partial(gpu_seconds, admin, one["id"]), lambda seconds: seconds >= 4 * 3)
            assert gpu_seconds(admin, one["id"]) < 4 * (3 + 10)
        assert corral.stop() == 0
        assert_invariants_hold(corral.home)


def moved(admin: Person, works: list[str]) -> list[str]:
    return [one for one in works if admin.look(one)["zone_name"] == "den"]


def zone(admin: Person, zone_id: str) -> Any:
    return admin.call("GET", f"/zones/{zone_id}")


def gpu_seconds(admin: Person, work: str) -> float:
    items = admin.call("GET", f"/usage?workload={work}")["items"]
    return sum(one["amount_seconds"] for one in items if one["resource"] == "gpu_milli") / 1000


def kill_api(corral: LiveCorral) -> None:
    """`corral up` starts another one; returns when that answers."""
    (child,) = api_children(corral)
    os.kill(child, signal.SIGKILL)
    wait_for(lambda: api_children(corral), lambda now: bool(now) and child not in now)
    wait_for(lambda: answers(corral), bool)


def api_children(corral: LiveCorral) -> list[int]:
    return [pid for kind, pid in below(corral.process.pid) if kind == "server.child"]


def answers(corral: LiveCorral) -> bool:
    """The token of the machine is new with every start."""
    try:
        administrator(corral)
    except CorralError:
        return False
    return True
