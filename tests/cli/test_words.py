"""One set of verbs and options in every group, and answers in the reader's units."""

import json
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from corral_sdk import Client
from typer.main import get_command

from corral.cli import main, samples
from corral.cli.output import print_table
from tests.cli.running import Corral, Done
from tests.live import LiveCorral

VERBS = {"list", "show", "create", "edit", "delete"}
# What is none of these has a word of its own in the field.
ACTIONS = {
    "audit": {"actions", "export"},
    "config": set(),
    "db": {"backup", "restore", "upgrade", "forget-keys"},
    "history": {"queues", "cluster", "arrivals"},
    "host": {"bundle"},
    "node": {"cordon", "uncordon"},
    "role": {"permissions"},
    "runtime": {"build"},
    "settings": {"mail", "registration", "checklist", "system"},
    "settings mail": {"test"},
    "usage": {"records"},
    "user": {
        *("import", "enable", "disable", "grant", "revoke", "login-link", "sign-out"),
        *("invitation", "join-code"),
    },
    "zone": {"add"},  # a zone is added to what there is; only a simulated one is made by it
}
FOREIGN_OPTIONS = {"--organisation", "--organization", "--actor", "--person", "--to", "--under", "--owner"}


def commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, entry in main._COMMANDS.items():
        waiting = [((name,), get_command(import_module(f"corral.cli.{entry.module}").app))]
        while waiting:
            path, each = waiting.pop()
            yield path, each
            waiting += [((*path, word), one) for word, one in getattr(each, "commands", {}).items()]


def test_every_group_has_the_same_verbs() -> None:
    for path, command in commands():
        words = set(getattr(command, "commands", ()))
        assert words <= VERBS | ACTIONS.get(" ".join(path), set()), path


def test_people_and_organisations_are_given_by_the_same_options() -> None:
    for path, command in commands():
        given = {option for each in command.params for option in each.opts}
        assert given.isdisjoint(FOREIGN_OPTIONS), path


def test_what_work_needs_is_listed_with_work() -> None:
    assert {main._COMMANDS[name].panel for name in ("run", "runtime", "secret")} == {"Work"}


def test_table_in_a_pipe_is_one_line_a_row_between_tabs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("w01", "a name\twith\nodd things " + "x" * 200, ["a", "b"]), ("w02", None, 3)]
    print_table(("Id", "Name", "Where"), rows, empty="None.")
    told = capsys.readouterr()
    header, first, second = told.out.splitlines()
    assert header == "Id\tName\tWhere"
    assert first.split("\t") == ["w01", "a name\\x09with\\x0aodd things " + "x" * 200, "a, b"]
    assert second.split("\t") == ["w02", "", "3"]
    print_table(("Id",), [], empty="Make one: corral run")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "Make one: corral run\n")


@pytest.mark.parametrize(
    ("metric", "value", "shown"),
    [
        ("cpu_milli", 1530.0, ("Cores", "1.53")),
        ("memory_bytes", 3.5 * 1024**3, ("Memory", "3.5 GiB")),
        ("gpu_busy_percent", 72.4, ("GPU busy", "72 %")),
        ("gpu_memory_mib", 8192.0, ("GPU memory", "8 GiB")),
        ("sent_bytes_per_second", 2_500_000.0, ("Sent", "2.5 MB/s")),
        ("power_milliwatts", 312_000.0, ("Power", "312 W")),
    ],
)
def test_samples_are_in_units_of_readers(metric: str, value: float, shown: tuple[str, str]) -> None:
    heading, words = samples._SHOWN[metric]
    assert (heading, words(value)) == shown


def _node(done: Done) -> Any:
    """The machine itself, once its engine has reported."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = [one for one in done("node", "list") if one["devices"]]
        if found:
            return found[0]
        time.sleep(0.1)
    raise AssertionError("no node was seen")


def test_samples_take_names_of_nodes_and_devices(
    admin: Corral, done: Done, live_corral: LiveCorral, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = _node(done)
    device = node["devices"][0]
    monkeypatch.setenv("CORRAL_HOME", str(live_corral.home))
    client = Client()
    assert samples._subject(client, f"node:{node['name']}") == f"node:{node['id']}"
    by_number = samples._subject(client, f"device:{node['name']}/{device['index']}")
    assert by_number == f"device:{node['id']}/{device['id']}"
    assert done("samples", f"node:{node['name']}")["step_seconds"] > 0
    assert "There is no node 'nowhere'" in admin("samples", "node:nowhere").err


def test_audit_takes_names_of_what_it_is_about(admin: Corral, done: Done) -> None:
    made = done("org", "create", "Named in the log")
    (entry,) = done("audit", "list", "--object", "Named in the log")
    assert entry["object_id"] == made["id"]
    assert done("audit", "list", "--object", "org:Named in the log") == [entry]
    done("flavor", "create", "named-in-both", "--cpu", "1", "--memory", "1Gi")
    zone = _node(done)["zone_id"]
    done("pool", "create", "named-in-both", "--label", "named=both", "--zone", zone)
    unclear = admin("audit", "list", "--object", "named-in-both")
    assert unclear.code == 2
    assert "pool:named-in-both" in unclear.err
    assert [one["action"] for one in done("audit", "list", "--object", "pool:named-in-both")] == [
        "pool.create"
    ]
    done("pool", "delete", "named-in-both", "--yes")
    assert "There is nothing called" in admin("audit", "list", "--object", "Gone with the wind").err


def test_errors_as_json_name_the_option_and_keep_the_field(admin: Corral) -> None:
    refused = admin("run", "--no-upload", "--replicas", "0", "--json", "--", "true")
    told = json.loads(refused.err)
    (error,) = told["errors"]
    assert (error["option"], error["field"]) == ("--replicas", "body.replicas")
    assert told["detail"] == "Not valid: --replicas."
    assert "body." not in told["detail"] + told["remedy"] + error["message"]


def test_apply_can_be_tried(admin: Corral, done: Done, tmp_path: Path) -> None:
    file = tmp_path / "work.yaml"
    file.write_text("name: only-tried\ncommand: ['true']\nresources: {cpu: 0.1, memory: 64Mi}\n")
    assert "result" in done("apply", "-f", str(file), "--dry-run")
    assert admin("apply", "-f", str(file), "--dry-run").out
    assert all(one["name"] != "only-tried" for one in done("ps", "--all"))


def test_account_is_deleted_after_its_name_was_typed(admin: Corral, done: Done) -> None:
    done("user", "create", "leaver")
    kept = admin("user", "delete", "leaver", stdin="other\n")
    assert (kept.code, "Nothing was deleted." in kept.err) == (1, True)
    assert admin("user", "delete", "leaver", stdin="leaver\n").code == 0
    assert "There is no person 'leaver'" in admin("user", "show", "leaver").err
    own = admin("user", "delete", "admin", "--yes")
    assert (own.code, "You cannot delete your own account." in own.err) == (1, True)


def test_secret_is_created_once_and_then_edited(admin: Corral) -> None:
    assert "corral secret create fresh" in admin("secret", "edit", "fresh", stdin="x").err
    assert admin("secret", "create", "fresh", stdin="first-value").code == 0
    assert "corral secret edit fresh" in admin("secret", "create", "fresh", stdin="x").err
    assert admin("secret", "edit", "fresh", stdin="second-value").code == 0
    assert admin("secret", "delete", "fresh").code == 0


def test_edit_without_a_change_says_what_can_be_changed(admin: Corral) -> None:
    refused = admin("org", "edit", "Corral")
    assert (refused.code, "--name, --parent" in refused.err) == (1, True)
