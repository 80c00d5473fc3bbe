"""A port of real work, opened through the gateway of a running Corral as a browser does it."""

import contextlib
import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest
from corral_sdk import Client, Problem
from corral_sdk.models import WorkloadDetail
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.live import LiveCorral
from tests.stories.people import NOWHERE, administrator, new_person

LIMIT_SECONDS = 60
NEEDS = {"cpu_milli": 200, "memory_mib": 256}
# Says what it was asked, and holds what is upgraded open.
SERVER = """
import http.server, json, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def do_GET(self):
        if self.headers.get('Upgrade'):
            import base64, hashlib
            key = self.headers['Sec-WebSocket-Key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
            accept = base64.b64encode(hashlib.sha1(key.encode()).digest()).decode()
            self.send_response(101); self.send_header('Upgrade', 'websocket')
            self.send_header('Connection', 'Upgrade'); self.send_header('Sec-WebSocket-Accept', accept)
            self.end_headers(); self.wfile.flush(); time.sleep(600)
        body = json.dumps({'path': self.path, **{k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(('127.0.0.1', 8000), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def client(live_corral: LiveCorral) -> Client:
    """Somebody with a token that outlives the API process."""
    person = new_person(administrator(live_corral), "mei")
    return Client(live_corral.url, token=person.token, environ=NOWHERE)


@pytest.fixture(scope="module")
def app(client: Client, tmp_path_factory: pytest.TempPathFactory) -> WorkloadDetail:
    folder = tmp_path_factory.mktemp("app")
    (folder / "serve.py").write_text(SERVER)
    work = client.training.submit(
        {
            "name": "served",
            "command": ["serve.py"],
            "upload_id": client.uploads.send_directory(folder).id,
            "resources": NEEDS,
            "ports": ["web=8000/http"],
            "readiness": "web",
        }
    )
    until(lambda: client.workloads.get(work.id).ready_at)
    return work


class Answer(NamedTuple):
    status: int
    headers: Message
    body: str


class Visitor:
    """A browser, as far as the gateway can tell: one that knows the way to the host names of apps."""

    def __init__(self, corral: LiveCorral, client: Client, workload_id: str, port: int | None = None) -> None:
        ticket = client.workloads.issue_ticket(workload_id, port=port)
        self.address = urlsplit(ticket.action)
        assert self.address.port is not None
        self.ticket = ticket.ticket
        self.cookie = ""
        self.home = corral.home

    @property
    def origin(self) -> str:
        return f"http://{self.address.netloc}"

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> Answer:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.address.port, timeout=40)
        ) as connection:
            given = {"Host": self.address.netloc, "Cookie": self.cookie, **headers}
            connection.request(method, path, body or None, given)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode())

    def enter(self) -> Answer:
        form = urlencode({"ticket": self.ticket, "path": "/lab"})
        answer = self.ask("POST", "/.corral/enter", form)
        self.cookie = (answer.headers["Set-Cookie"] or "").partition(";")[0]
        return answer

    def socket(self) -> ClientConnection:
        return connect(
            f"ws://{self.address.netloc}/",
            sock=socket.create_connection(("127.0.0.1", self.address.port)),
            additional_headers={"Cookie": self.cookie, "Origin": self.origin},
            close_timeout=1,
        )


def until(happened: Callable[[], object]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def gateway_pid(corral: LiveCorral) -> int:
    return child_pid(corral, b"corral.gateway.child")


def api_pid(corral: LiveCorral) -> int:
    return child_pid(corral, b"corral.server.child")


def child_pid(corral: LiveCorral, module: bytes) -> int:
    parent = str(json.loads((corral.home / "endpoints.json").read_text())["pid"])
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                ours = (entry / "stat").read_text().rpartition(")")[2].split()[1] == parent
                if ours and module in (entry / "cmdline").read_bytes():
                    return int(entry.name)
            except OSError:
                continue
    raise AssertionError(f"no {module!r} below {parent}")


def test_a_ticket_leads_into_the_work(live_corral: LiveCorral, client: Client, app: WorkloadDetail) -> None:
    visitor = Visitor(live_corral, client, app.id)
    entered = visitor.enter()
    assert (entered.status, entered.headers["Location"]) == (303, "/lab")
    answer = visitor.ask("GET", "/lab?a=1", Authorization="Bearer mine")
    assert answer.status == 200, answer.body
    seen = json.loads(answer.body)
    assert (answer.status, seen["path"], seen["host"]) == (200, "/lab?a=1", visitor.address.netloc)
    assert "authorization" not in seen
    assert "corral" not in seen.get("cookie", "")
    assert Visitor(live_corral, client, app.id, 8000).address.netloc.startswith(f"{app.id}--8000.")


def test_a_ticket_is_good_once(live_corral: LiveCorral, client: Client, app: WorkloadDetail) -> None:
    visitor = Visitor(live_corral, client, app.id)
    assert visitor.enter().status == 303
    assert visitor.enter().status == 403


def test_a_port_that_is_not_declared_has_no_ticket(client: Client, app: WorkloadDetail) -> None:
    with pytest.raises(Problem) as refused:
        client.workloads.issue_ticket(app.id, port=22)
    assert (refused.value.status, refused.value.errors[0].field) == (422, "port")


def test_nobody_else_gets_a_ticket(live_corral: LiveCorral, client: Client, app: WorkloadDetail) -> None:
    mallory = new_person(administrator(live_corral), "mallory")
    other = Client(live_corral.url, token=mallory.token, environ=NOWHERE)
    with pytest.raises(Problem) as refused:
        other.workloads.issue_ticket(app.id)
    assert refused.value.status == 404


def test_who_lost_the_right_is_shut_out_within_seconds(
    live_corral: LiveCorral, client: Client, app: WorkloadDetail
) -> None:
    made = client.tokens.create("visitor")
    guest = Client(live_corral.url, token=made.secret, environ=NOWHERE)
    visitor = Visitor(live_corral, guest, app.id)
    visitor.enter()
    with visitor.socket() as held:
        client.tokens.revoke(made.token.id)
        with pytest.raises(ConnectionClosed):
            held.recv(timeout=30)
        assert visitor.ask("GET", "/").status == 401


def test_the_death_of_the_api_ends_no_connection(
    live_corral: LiveCorral, client: Client, app: WorkloadDetail
) -> None:
    visitor = Visitor(live_corral, client, app.id)
    visitor.enter()
    assert visitor.ask("GET", "/").status == 200
    with visitor.socket() as held:
        killed = api_pid(live_corral)
        os.kill(killed, signal.SIGKILL)
        assert visitor.ask("GET", "/during").status == 200  # waits, if it must, for the next one
        with pytest.raises(TimeoutError):
            held.recv(timeout=1)
        until(lambda: _answers(client))
        with pytest.raises(TimeoutError):
            held.recv(timeout=3)  # also the sweep after that finds it right
    assert api_pid(live_corral) != killed


def test_the_gateway_comes_back_and_people_stay_signed_in(
    live_corral: LiveCorral, client: Client, app: WorkloadDetail
) -> None:
    visitor = Visitor(live_corral, client, app.id)
    visitor.enter()
    os.kill(gateway_pid(live_corral), signal.SIGKILL)
    until(lambda: _status(visitor) == 200)


def test_work_that_has_stopped_says_so(live_corral: LiveCorral, client: Client) -> None:
    work = client.training.submit(
        {"name": "brief", "command": ["true"], "resources": NEEDS, "ports": ["web=8000/http"]}
    )
    visitor = Visitor(live_corral, client, work.id)
    visitor.enter()
    until(lambda: "has stopped" in visitor.ask("GET", "/").body)


def _answers(client: Client) -> bool:
    try:
        return bool(client.workloads.list())
    except Exception:  # noqa: BLE001 - it is starting
        return False


def _status(visitor: Visitor) -> int:
    try:
        return visitor.ask("GET", "/").status
    except OSError:
        return 0
