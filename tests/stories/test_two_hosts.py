"""Two hosts on one PostgreSQL: each drives its own machine, both serve everything, and each outlives one."""

import hashlib
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from corral_sdk import Client, Problem
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from corral.store.keyring import Keyring
from tests.live import LiveCorral
from tests.postgres import Server
from tests.stories.hosts import TwoHosts, kill_host, people_of, run_corral, two_hosts
from tests.stories.people import NOWHERE, Person, administrator, new_person, wait_for

WAITS = """
import pathlib, time
while not pathlib.Path("enough").exists():
    time.sleep(0.05)
print("done")
"""
# Says on port 8888 what it is told, louder.
LISTENS = """
import socket
server = socket.create_server(("127.0.0.1", 8888))
print("here", flush=True)
while True:
    caller, _ = server.accept()
    with caller:
        while data := caller.recv(65536):
            caller.sendall(data.upper())
"""
PASSWORD = "quiet-harbour-lantern-42"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory, postgresql_server: Server) -> Iterator[TwoHosts]:
    with two_hosts(tmp_path_factory.mktemp("hosts"), postgresql_server) as running:
        yield running


def zones_of(person: Person) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.call("GET", "/zones")["items"]
    return found


def client(person: Person) -> Client:
    return Client(person.url, person.token, environ=NOWHERE)


def finish(corral: LiveCorral, work: str) -> None:
    (corral.home / "work" / "workspaces" / work / "enough").touch()


def latest_event(person: Person) -> str:
    """The id with which a stream of events begins."""
    headers = {"Authorization": f"Bearer {person.token}", "Accept": "text/event-stream"}
    request = urllib.request.Request(f"{person.url}/api/v1/events", headers=headers)
    with urllib.request.urlopen(request, timeout=30) as stream:
        for line in stream:
            if line.startswith(b"id:"):
                return str(line.removeprefix(b"id:").decode().strip())
    raise AssertionError("the stream ended")


def session_at(corral: LiveCorral, name: str) -> str:
    """The secret of a new login session."""
    transport = Client(corral.url, environ=NOWHERE)._transport
    body = {"provider": "local", "name": name, "password": PASSWORD}
    answer = transport.request("POST", "/api/v1/session", body=body)
    return str(answer.headers["set-cookie"].partition(";")[0].partition("=")[2])


def signed_in_at(corral: LiveCorral, secret: str) -> str:
    """Who that is. Behind one name in front of both, the cookie is the same; here its name has the port."""
    transport = Client(corral.url, environ=NOWHERE)._transport
    cookie = f"corral_session_{corral.port}={secret}"
    return str(transport.request("GET", "/api/v1/me", headers={"Cookie": cookie}).json()["name"])


def test_each_host_drives_its_own_machine_and_both_know_both(hosts: TwoHosts) -> None:
    first, second = people_of(hosts)
    for person in (first, second):
        wait_for(lambda one=person: zones_of(one), lambda zones: {z["state"] for z in zones} == {"ready"})
        identities = {one["identity"] for one in zones_of(person)}
        assert identities == {(one.home / "zone-id").read_text().strip() for one in hosts}
        listed = person.call("GET", "/hosts")["items"]
        assert {(one["id"], one["url"], one["state"]) for one in listed} == {
            ((one.home / "zone-id").read_text().strip(), one.url, "up") for one in hosts
        }
        names = {one["id"]: one["name"] for one in listed}
        assert len(set(names.values())) == 2, "two data directories on one machine are told apart"
        assert {one["identity"]: one["driven_by"] for one in zones_of(person)} == names
    assert hosts.leaders() == {identity: {identity} for identity in names}


def test_output_of_work_on_the_other_host_is_read_through_it(hosts: TwoHosts) -> None:
    first, second = people_of(hosts)
    for person, other in ((first, hosts.second), (second, hosts.first)):
        work = person.submit("hello", ["echo", "hello"], gpus=1, zone=hosts.zone_of(other))
        person.wait(work, "succeeded")
        assert person.output(work, 1) == "hello\n"


def test_code_that_was_uploaded_to_one_host_runs_on_the_other(hosts: TwoHosts, tmp_path: Path) -> None:
    first, second = people_of(hosts)
    (tmp_path / "hello.py").write_text("print('from a file')")
    sent = client(first).uploads.send_directory(tmp_path)
    assert not (hosts.second.home / "uploads" / sent.sha256).exists()
    first.call("PUT", "/me/secrets/word", {"value": "only-for-the-work"})
    work = first.submit(
        "uploaded",
        ["sh", "-c", "python3 hello.py; echo ${#WORD} $WORD"],
        gpus=1,
        zone=hosts.zone_of(hosts.second),
        upload_id=sent.id,
        secrets={"WORD": "word"},
    )
    second.wait(work, "succeeded")
    for person in (first, second):  # whoever reads it, secrets are starred
        said = person.output(work, 1)
        assert said.startswith("from a file\n17 *"), said
        assert "only-for-the-work" not in said
    fetched = hosts.second.home / "uploads" / sent.sha256
    assert hashlib.sha256(fetched.read_bytes()).hexdigest() == sent.sha256


def test_commands_and_ports_of_work_on_the_other_host_are_reached(hosts: TwoHosts) -> None:
    first, _ = people_of(hosts)
    work = first.submit("listens", ["python3", "-c", LISTENS], gpus=1, zone=hosts.zone_of(hosts.second))
    first.wait(work, "running")
    wait_for(lambda: first.output(work, 1), lambda text: text == "here\n")
    with client(first).workloads.execute(work, ["sh", "-c", "cat; echo wrong >&2; exit 3"]) as session:
        session.write(b"through both\n")
        session.close_input()
        said = {one.stream: one.data for one in session}
        assert (said, session.exit_code) == ({"out": b"through both\n", "error": b"wrong\n"}, 3)
    port = client(first).workloads.connect(work, 8888)
    port.write(b"hello")
    port.close_input()
    assert b"".join(iter(port.read, b"")) == b"HELLO"
    port.close()
    somebody = new_person(first, "outsider")
    for refused in (lambda: somebody.output(work, 1), lambda: client(somebody).workloads.connect(work, 8888)):
        with pytest.raises(Problem, match="There is no workload"):
            refused()
    first.call("POST", f"/workloads/{work}/stop")
    first.wait(work, "stopped")


def test_the_way_between_hosts_is_closed_to_everybody_else(hosts: TwoHosts) -> None:
    first, _ = people_of(hosts)
    address = hosts.second.url.replace("http://", "ws://") + "/api/v1/hosts/link"
    for header in (f"Bearer {first.token}", "CorralHost nonsense.nonsense", ""):
        with (
            pytest.raises(InvalidStatus) as refused,
            connect(address, additional_headers={"Authorization": header}),
        ):
            pass
        assert refused.value.response.status_code == 401


def test_a_corral_with_other_keys_does_not_start_on_the_database(hosts: TwoHosts, tmp_path: Path) -> None:
    Keyring.open(tmp_path / "keys")
    with pytest.raises(AssertionError, match="not those that the database is sealed with"):
        run_corral(tmp_path, "up", CORRAL_DATABASE_URL=hosts.database_url)
    (tmp_path / "keys").unlink()
    with pytest.raises(AssertionError, match="corral join"):
        run_corral(tmp_path, "up", CORRAL_DATABASE_URL=hosts.database_url)
    first, _ = people_of(hosts)
    assert len(zones_of(first)) == 2


@pytest.mark.parametrize("number", [0, 1])
def test_work_of_each_host_survives_the_death_of_the_other(hosts: TwoHosts, number: int) -> None:
    dies, lives = tuple(hosts)[number], tuple(hosts)[1 - number]
    person = administrator(lives)
    token = client(administrator(dies)).tokens.create(f"watches {number}").secret
    watcher = Person(dies.url, person.id, token)
    new_person(administrator(dies), f"visitor{number}")
    session = session_at(dies, f"visitor{number}")
    there = person.submit("there", ["python3", "-c", WAITS], gpus=1, zone=hosts.zone_of(dies))
    here = person.submit("here", ["python3", "-c", WAITS], gpus=1, zone=hosts.zone_of(lives))
    for work in (there, here):
        person.wait(work, "running")
    seen = latest_event(watcher)

    kill_host(dies)
    try:
        with pytest.raises(Problem, match="cannot be reached from here"):
            person.output(there, 1)
        # Who watched there goes on here: nobody is logged out, and no event is missed.
        assert signed_in_at(lives, session) == f"visitor{number}"
        later = person.submit("later", ["echo", "later"], gpus=1, zone=hosts.zone_of(lives))
        watcher.url = lives.url
        events = client(watcher).events(last_event_id=seen)
        missed = next(event for event in events if event.object_id == later or event.kind == "reset")
        assert missed.kind == "workload"
        person.wait(later, "succeeded")
        finish(lives, here)
        assert person.wait(here, "succeeded")["attempt"] == 1
        zone = wait_for(
            lambda: next(one for one in zones_of(person) if one["name"] == hosts.zone_of(dies)),
            lambda one: one["state"] == "unreachable",
        )
        dead = (dies.home / "zone-id").read_text().strip()
        name = next(one["name"] for one in person.call("GET", "/hosts")["items"] if one["id"] == dead)
        assert (zone["driven_by"], zone["last_driven_by"], bool(zone["since"])) == (None, name, True)
        # Its leaderships have expired, and still the host that lives leads no loop of that machine.
        assert hosts.leaders()[dead] == {dead}
        assert person.look(there)["state"] == "running", "nobody knows better, and nothing is lost"
    finally:
        dies.start_again()
    finish(dies, there)
    over = person.wait(there, "succeeded")
    assert [step["state"] for step in over["transitions"]] == ["queued", "starting", "running", "succeeded"]
    assert (over["attempt"], person.output(there, 1)) == (1, "done\n")
