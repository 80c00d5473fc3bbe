"""Kinds of work from the command line: families, flavors of one kind, and what is recorded of arrivals."""

import uuid
from pathlib import Path

import pytest
from sqlalchemy import update

from corral.cli.kinds import KINDS as IN_COMMAND
from corral.server.kinds import KINDS
from corral.store.database import Transaction
from corral.workloads.tables import workload
from tests.cli.running import Corral, Done
from tests.databases import in_database, sqlite_url
from tests.live import LiveCorral
from tests.stories.people import wait_for


@pytest.fixture
def name() -> str:
    return f"k{uuid.uuid4().hex[:8]}"


@pytest.fixture
def lab(done: Done, name: str) -> str:
    return str(done("org", "create", f"Lab {name}")["name"])


def test_command_knows_the_kinds_of_the_server() -> None:
    assert [one.kind for one in IN_COMMAND] == [one.name for one in KINDS]


def test_ps_lists_the_children_of_a_workload(
    admin: Corral, done: Done, live_corral: LiveCorral, name: str
) -> None:
    ids = {}
    for role in ("parent", "child", "stranger"):
        options = ("--json", "--no-upload", "--memory", "1Ti", "--wait", "--name", f"{name} {role}")
        ids[role] = admin("run", *options, "--", "true").json["id"]

    def adopt(transaction: Transaction) -> None:
        of_child = workload.c.id == ids["child"]
        transaction.run(update(workload).where(of_child).values(parent_id=ids["parent"]))

    in_database(sqlite_url(live_corral.home / "corral.db"), adopt)
    for named in (ids["parent"], f"{name} parent"):
        assert [one["id"] for one in done("ps", "--parent", named)] == [ids["child"]]
    assert done("ps", "--parent", ids["child"]) == []
    assert f"{name} child" in admin("describe", ids["parent"]).out
    assert ids["parent"] in admin("describe", ids["child"]).out
    unknown = admin("ps", "--parent", "nobody's")
    assert (unknown.code, "nobody's" in unknown.err) == (1, True)
    done("stop", ids["parent"], ids["stranger"])
    assert done("describe", ids["child"])["state"] == "stopped", "what is done to the parent reaches it"


def test_flavor_is_offered_for_some_kinds_only(admin: Corral, done: Done, lab: str, name: str) -> None:
    flavor = f"only-{name}"[:40]
    create = ("flavor", "create", flavor, "--cpu", "1", "--memory", "1Gi", "--org", lab)
    refused = admin(*create, "--kind", "baking")
    assert (refused.code, "There is no kind baking." in refused.err) == (1, True)
    assert done(*create, "--kind", "runtime")["kinds"] == ["runtime"]
    of_kind = {
        kind: {one["name"] for one in done("flavor", "list", "--kind", kind)}
        for kind in ("runtime", "training")
    }
    assert (flavor in of_kind["runtime"], flavor in of_kind["training"]) == (True, False)
    assert "runtime" in admin("flavor", "show", flavor).out
    work = admin("run", "--no-upload", "--flavor", flavor, "--org", lab, "--", "true")
    assert (work.code, f"The flavor {flavor} is offered for runtime, not for training." in work.err) == (
        1,
        True,
    )
    assert done("flavor", "edit", flavor, "--kind", "all")["kinds"] == []
    done("flavor", "delete", flavor, "--yes")


def test_history_shows_arrivals_and_changes_of_the_cluster(admin: Corral, done: Done, name: str) -> None:
    before = done("history", "cluster")["next_after"]
    # Another test may have left a zone behind.
    pool = done("pool", "create", f"pool-{name}"[:40], "--label", f"history={name}"[:60], "--zone", "local")
    changes = done("history", "cluster", "--after", str(before), "--kind", "pool")["items"]
    assert [(one["object_id"], one["before"]) for one in changes] == [(pool["id"], None)]
    assert pool["name"] in admin("history", "cluster", "--after", str(before)).out
    done("pool", "delete", pool["name"], "--yes")
    work = admin("run", "--json", "--no-upload", "--name", name, "--", "true").json
    recent = ("history", "arrivals", "--since", "1h", "--limit", "1000")
    wait_for(
        lambda: {one["workload_id"] for one in done(*recent)["items"]}, lambda found: work["id"] in found
    )
    assert work["id"] in admin(*recent).out
    assert admin("history", "arrivals", "--until", "2020-01-01").err.startswith("Nothing was submitted")
    assert admin("history", "queues", "--until", "2020-01-01").err.startswith("Nothing was recorded")
    wrong = admin("history", "queues", "--since", "yesterday-ish")
    assert (wrong.code, "--since" in wrong.err) == (1, True)


def test_runtime_is_created_in_a_named_zone(admin: Corral, done: Done, name: str, tmp_path: Path) -> None:
    wrong = admin("runtime", "create", name, "numpy", "--zone", "nowhere")
    assert (wrong.code, "nowhere" in wrong.err, "local" in wrong.err) == (1, True, True)
    file = tmp_path / "requirements.txt"
    file.write_text("# nothing but this\nno-such-package-of-corral==1\n")
    made = done("runtime", "create", name, "-r", str(file), "--zone", "local")
    assert (made["zone"], made["requirements"]) == ("local", ["no-such-package-of-corral==1"])
    assert "local" in admin("runtime", "show", name).out
    done("stop", made["workload_id"])
