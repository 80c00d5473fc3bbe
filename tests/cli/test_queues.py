"""Queues, flavors and machines from the command line, against a running Corral."""

from itertools import count

import pytest

from tests.cli.running import Corral, Done
from tests.databases import in_database, sqlite_url
from tests.live import LiveCorral
from tests.zones.machines import machine, see_in_the_hall

numbers = count(1)


@pytest.fixture(autouse=True)
def machines(live_corral: LiveCorral) -> None:
    """Two machines with simulated GPUs have been seen, beside this one."""
    seen = (machine("dgx-01"), machine("dgx-02"))
    url = sqlite_url(live_corral.home / "corral.db")
    in_database(url, lambda transaction: see_in_the_hall(transaction, *seen))


@pytest.fixture
def lab(done: Done) -> str:
    name = f"Queue lab {next(numbers)}"
    done("org", "create", name)
    return name


def test_machines_and_gpus_are_listed_and_simulated_ones_marked(admin: Corral, done: Done) -> None:
    shown = admin("node", "list").out
    assert "dgx-01" in shown
    assert "8x H100-80GB (simulated)" in shown
    devices = done("device", "list", "--pool", "dgx")
    assert len(devices) == 16
    listed = admin("device", "list")
    assert "your code computes on the CPU" in listed.err


def test_node_is_cordoned_by_name(admin: Corral, done: Done) -> None:
    assert done("node", "cordon", "dgx-02")["cordoned"] is True
    assert "cordoned" in admin("node", "list").out
    assert done("node", "uncordon", "dgx-02")["cordoned"] is False
    refused = admin("node", "cordon", "nowhere")
    assert refused.code == 1
    assert "There is no node 'nowhere'" in refused.err


def test_lists_narrow_to_one_zone(admin: Corral, done: Done) -> None:
    for what in ("node", "device", "pool"):
        here, everywhere = (done(what, "list", *more) for more in (("--zone", "hall"), ()))
        assert here
        assert len(here) < len(everywhere)
    assert "hall" in admin("node", "list", "--zone", "hall").out
    assert "There is no zone 'nowhere'" in admin("pool", "list", "--zone", "nowhere").err


def test_pool_is_made_and_changed(admin: Corral, done: Done) -> None:
    name = f"pool-{next(numbers)}"
    made = done("pool", "create", name, "--zone", "hall", "--label", f"rack={name}", "--reservations", "2")
    assert (made["labels"], made["reservations"]) == ({"rack": name}, 2)
    changed = done("pool", "edit", name, "--arrangement", "spreading", "--priority-across-queues")
    assert (changed["arrangement"], changed["priority_across_queues"]) == ("spreading", True)
    caps = ("--most-grace-seconds", "900", "--most-retries", "3", "--most-replicas", "40")
    capped = done("pool", "edit", name, *caps)
    assert [capped[f"most_{what}"] for what in ("grace_seconds", "retries", "replicas")] == [900, 3, 40]
    assert f"rack={name}" in admin("pool", "list").out
    assert "(all others)" in admin("pool", "list").out
    assert admin("pool", "create", "x", "--label", "nonsense").code == 1


def test_several_queues_are_set_at_once(admin: Corral, done: Done, lab: str) -> None:
    below = f"Below {lab}"
    done("org", "create", below, "--parent", lab)
    changed = done(
        *("queue", "edit", lab, "gpu.guarantee=2", "gpu.limit=4", "memory.limit=64Gi", "policy=fixed"),
        *(below, "gpu.guarantee=1.5", "cpu.weight=3", "priority=5", "--pool", "dgx"),
    )
    first, second = changed["items"]
    quotas = {one["resource"]: one for one in first["quotas"] if one["pool_id"] == _hall(done)}
    assert (quotas["gpu_milli"]["guarantee"], quotas["gpu_milli"]["limit"]) == (2000, 4000)
    assert (quotas["memory_mib"]["limit"], first["policy"]) == (65536, "fixed")
    assert second["priority"] == 5
    tree = admin("queue", "list", "--org", lab, "--pool", "dgx").out.splitlines()
    assert tree[0] == "Pool dgx (hall): GPUs 16, simulated"
    columns = ["Queue", "Policy", "Priority", "Guarantee", "Limit", "Weight", "Used", "Fair share"]
    assert tree[1].split("\t") == columns
    # Nobody asks for anything, so nobody's share is more than nothing.
    assert tree[2].split()[-7:] == ["fixed", "0", "2", "4", "1", "0", "0"]
    assert tree[3].startswith(f"  {below}")


def test_person_gets_a_queue_to_give_something_to(admin: Corral, done: Done, lab: str) -> None:
    name = f"queued{next(numbers)}"
    done("user", "create", name, "--org", lab)
    assert "has no queue" in admin("queue", "show", f"{lab}@{name}").err
    done("queue", "edit", f"{lab}@{name}", "gpu.limit=1", "custom-numbers=no", "--pool", "dgx")
    shown = done("queue", "show", f"{lab}@{name}")
    assert shown["person"]["name"] == name
    assert shown["custom_numbers"] is False
    assert "Guarantee" in admin("queue", "show", f"{lab}@{name}").out
    done("queue", "edit", f"{lab}@{name}", "gpu.limit=none", "custom-numbers=inherit", "--pool", "dgx")
    assert done("queue", "show", shown["id"])["custom_numbers"] is None


def test_over_commitment_is_said_before_and_after(admin: Corral, lab: str) -> None:
    words = ("queue", "edit", lab, "gpu.guarantee=40", "--pool", "dgx")
    tried = admin(*words, "--dry-run")
    assert "Dry run: this would change" in tried.out
    assert "Over-committed: Guarantees of" in tried.out
    assert "exceed the 16 GPUs of the pool dgx" in admin(*words).out
    assert admin("queue", "edit", lab, "gpu.guarantee=0", "--pool", "dgx").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["gpu.guarantee=2"], "belongs to no queue"),
        (["{lab}"], "named without a change"),
        (["{lab}", "gpu.speed=2"], "gpu.speed=2 is unknown"),
        (["{lab}", "gpu.guarantee=many"], "GPUs are a number such as 2 or 0.5"),
        (["{lab}", "memory.limit=64"], "A size has a number and a unit"),
        (["{lab}", "priority=high"], "whole number"),
        (["{lab}", "gpu.guarantee=0.0001"], "in steps of a thousandth"),
        (["{lab}", "reclaim-min-runtime=90"], "A time has a number and a unit"),
        (["{lab}", "gpu.guarantee=3", "gpu.limit=2"], "above the limit"),
    ],
)
def test_change_that_cannot_be_is_refused_in_words(
    admin: Corral, lab: str, words: list[str], says: str
) -> None:
    refused = admin("queue", "edit", *(word.format(lab=lab) for word in words), "--pool", "dgx")
    assert refused.code == 1
    assert says in refused.err


def test_flavor_that_fits_on_no_node_is_made_with_a_warning(admin: Corral, done: Done, lab: str) -> None:
    name = f"huge-{next(numbers)}"
    created = admin("flavor", "create", name, "--cpu", "1", "--memory", "1Gi", "--gpu", "999", "--org", lab)
    told = f"{name}: Fits on no node: it asks for 999 GPUs on one node, and "
    assert (created.code, told in created.err) == (0, True), created.err
    assert told in admin("flavor", "list").err
    (kept,) = (one for one in done("flavor", "list") if one["name"] == name)
    assert (kept["lack"]["kind"], kept["lack"]["asked"]) == ("devices", 999)
    fits = admin("flavor", "edit", name, "--gpu", "0")
    assert (fits.code, fits.err) == (0, "")
    done("flavor", "delete", name, "--yes")
    assert name not in admin("flavor", "list").err


def test_flavors_are_made_changed_and_deleted(admin: Corral, done: Done, lab: str) -> None:
    name = f"slice-{next(numbers)}"
    made = done("flavor", "create", name, "--cpu", "500m", "--memory", "4Gi", "--gpu", "8Gi", "--org", lab)
    assert (made["cpu_milli"], made["memory_mib"], made["gpu"]["memory_mib"]) == (500, 4096, 8192)
    assert [one["name"] for one in made["organisations"]] == [lab]
    assert name in [one["name"] for one in done("flavor", "list", "--org", lab)]
    assert "1x 8 GiB" in admin("flavor", "list").out
    changed = done("flavor", "edit", name, "--gpu", "2", "--gpu-model", "H100-80GB", "--disable")
    assert (changed["gpu"]["count"], changed["gpu"]["memory_mib"]) == (2, None)
    assert (changed["gpu"]["models"], changed["enabled"]) == (["H100-80GB"], False)
    assert done("flavor", "edit", name, "--gpu", "0")["gpu"] is None
    assert admin("flavor", "edit", name, "--gpu-model", "H100").code == 1
    assert admin("flavor", "create", "x", "--cpu", "1", "--memory", "1Gi", "--gpu", "1.5").code == 1
    done("flavor", "delete", name, "--yes")
    assert name not in [one["name"] for one in done("flavor", "list")]


def _hall(done: Done) -> str:
    return next(str(one["id"]) for one in done("pool", "list") if one["name"] == "dgx")
