"""One exchange: what is sent, what is tried again, and how refusals arrive."""

import io
import subprocess
import sys
from datetime import UTC, datetime
from itertools import islice

import pytest
from corral_sdk import (
    Client,
    NotConfiguredError,
    Problem,
    UnexpectedAnswerError,
    UnreachableError,
    sign_in,
)
from corral_sdk import _platform as platform_module
from corral_sdk import _transport as transport_module
from corral_sdk.models import Event, Role

from tests.sdk.conftest import Script

ROLE = {
    "id": "r1",
    "key": None,
    "organisation_id": "o1",
    "organisation_name": "Physics",
    "name": "Lead",
    "description": "",
    "permissions": ["people.read"],
    "people_count": 2,
    "created_at": "2026-11-15T10:00:00Z",
    "generation": 3,
    "from_a_newer_corral": True,
}
PROBLEM = {
    "type": "/problems/conflict",
    "title": "Conflicts with what exists",
    "status": 409,
    "detail": "There is already a role called Lead here.",
    "remedy": "Choose another name.",
    "request_id": "5f0c",
    "errors": [{"field": "body.name", "message": "taken", "remedy": "Choose another name."}],
    "tries_left": 2,
}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport_module, "_FIRST_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(platform_module, "_FIRST_WAIT_SECONDS", 0.0)


def client(server: Script) -> Client:
    return Client(server.url, "corral_t1_secret", environ={})


def test_a_read_sends_the_token_and_decodes_what_it_knows(server: Script) -> None:
    server.reply(body=ROLE)

    role = client(server).roles.get("r1")

    assert isinstance(role, Role)
    assert role.permissions == ("people.read",)
    assert role.created_at == datetime(2026, 11, 15, 10, tzinfo=UTC)
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/api/v1/roles/r1")
    assert asked.headers["authorization"] == "Bearer corral_t1_secret"


def test_ids_cannot_leave_their_place_in_the_path(server: Script) -> None:
    server.reply(body=ROLE)
    client(server).roles.get("../users?x=1")
    assert server.asked[0].path == "/api/v1/roles/..%2Fusers%3Fx%3D1"


def test_a_read_is_tried_again_after_a_broken_connection_and_a_busy_server(server: Script) -> None:
    server.hang_up()
    server.reply(503, {"title": "Not available now"}, Retry_After="0")
    server.reply(body=ROLE)

    assert client(server).roles.get("r1").name == "Lead"
    assert len(server.asked) == 3


def test_a_server_that_stays_away_is_told_with_its_address(server: Script) -> None:
    server.hang_up()
    with pytest.raises(UnreachableError) as caught:
        client(server).roles.get("r1")
    assert server.url in str(caught.value)
    assert len(server.asked) == 3


def test_a_long_wait_that_the_server_asks_for_is_left_to_the_caller(server: Script) -> None:
    server.reply(429, {**PROBLEM, "status": 429}, Retry_After="60")
    with pytest.raises(Problem):
        client(server).roles.get("r1")
    assert len(server.asked) == 1


def test_a_create_is_tried_again_with_the_same_key(server: Script) -> None:
    server.hang_up()
    server.reply(201, ROLE)

    client(server).roles.create("o1", "Lead", ["people.read"])

    first, second = server.asked
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.body == second.body
    assert first.body["permissions"] == ["people.read"]


def test_a_new_create_has_a_new_key(server: Script) -> None:
    server.reply(201, ROLE)
    for _ in range(2):
        client(server).roles.create("o1", "Lead", ["people.read"])
    first, second = server.asked
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]


def test_a_change_is_sent_once_with_the_generation_that_was_seen(server: Script) -> None:
    server.hang_up()
    with pytest.raises(UnreachableError):
        client(server).roles.update("r1", name="Head", generation=3)
    (asked,) = server.asked
    assert asked.headers["if-match"] == '"3"'
    assert asked.body == {"name": "Head"}


def test_a_change_without_generation_takes_what_is_there(server: Script) -> None:
    server.reply(204)
    client(server).roles.delete("r1")
    assert server.asked[0].headers["if-match"] == "*"


def test_a_refusal_carries_the_words_of_the_api(server: Script) -> None:
    server.reply(409, PROBLEM)

    with pytest.raises(Problem) as caught:
        client(server).roles.create("o1", "Lead", [])

    problem = caught.value
    assert (problem.status, problem.kind, problem.request_id) == (409, "conflict", "5f0c")
    assert problem.detail == "There is already a role called Lead here."
    assert problem.remedy == "Choose another name."
    assert problem.errors[0].field == "body.name"
    assert problem.facts == {"tries_left": 2}


@pytest.mark.parametrize("body", [b"<html>", {"no": "title"}, None])
def test_a_refusal_that_is_not_corrals_says_to_check_the_address(server: Script, body: object) -> None:
    server.reply(404, body)
    with pytest.raises(UnexpectedAnswerError, match="Check the address"):
        client(server).roles.get("r1")


def test_an_answer_without_a_needed_field_is_not_taken(server: Script) -> None:
    server.reply(body={"id": "r1"})
    with pytest.raises(UnexpectedAnswerError, match="has no field key of Role"):
        client(server).roles.get("r1")


def test_a_list_goes_on_to_the_next_page_only_when_it_is_needed(server: Script) -> None:
    server.reply(body={"items": [ROLE, ROLE], "next_cursor": "c1"})
    server.reply(body={"items": [ROLE], "next_cursor": None})
    roles = client(server).roles.list()

    assert len(list(islice(roles, 2))) == 2
    assert len(server.asked) == 1
    assert len(list(roles)) == 1
    assert "cursor=c1" in server.asked[1].path


def test_filters_that_are_not_given_are_not_sent(server: Script) -> None:
    server.reply(body={"items": [], "next_cursor": None})
    since = datetime(2026, 11, 1, tzinfo=UTC)
    list(client(server).audit.list(actor="u1", since=since))
    assert server.asked[0].path == "/api/v1/audit?limit=200&actor=u1&since=2026-11-01T00%3A00%3A00Z"


def test_an_export_is_written_as_it_comes(server: Script) -> None:
    server.reply(body=b"id,at\n" * 50_000)
    out = io.BytesIO()
    assert client(server).audit.export(out, format="csv") == 300_000
    assert out.getvalue() == b"id,at\n" * 50_000


def test_a_refused_export_writes_nothing(server: Script) -> None:
    server.reply(403, {**PROBLEM, "status": 403})
    out = io.BytesIO()
    with pytest.raises(Problem):
        client(server).audit.export(out)
    assert out.getvalue() == b""


def test_events_go_on_after_the_last_one_seen(server: Script) -> None:
    server.reply(body=b'retry: 3000\nid: 6\nevent: ready\ndata: {"id": 6}\n\n')
    first = b': hello\n\nid: 7\nevent: changed\ndata: {"kind": "user", "id": "u1", "generation": 2}\n\n'
    server.reply(body=first)
    server.reply(body=b"id: 9\nevent: reset\ndata: {}\n\n")

    changed, reset = islice(client(server).events(), 2)

    assert changed == Event(id="7", kind="user", object_id="u1", generation=2, scope=None)
    assert (reset.id, reset.kind) == ("9", "reset")
    assert "last-event-id" not in server.asked[0].headers
    assert [each.headers.get("last-event-id") for each in server.asked[1:]] == ["6", "7"]


@pytest.mark.parametrize("url", ["http://corral.example", "http://192.168.1.5:8710"])
def test_credentials_are_not_sent_in_the_clear_over_a_network(url: str) -> None:
    with pytest.raises(NotConfiguredError, match="ssh -L"):
        Client(url, "t", environ={})
    Client(url, "t", allow_plain_http=True, environ={})


@pytest.mark.parametrize("url", ["corral.example", "ftp://x", "https://"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(NotConfiguredError):
        Client(url, "t", environ={})


def test_the_token_is_not_in_what_is_printed() -> None:
    made = Client("http://127.0.0.1:1", "s3cret", environ={})
    assert "s3cret" not in repr(made) + repr(made.endpoint) + repr(made._transport)


def test_signing_in_uses_the_session_for_what_follows(server: Script) -> None:
    user = {
        "id": "u1",
        "name": "mei",
        "display_name": "Mei",
        "mail": None,
        "state": "active",
        "priority": 1,
        "language": None,
        "theme": None,
        "created_at": "2026-11-15T10:00:00Z",
        "last_seen_at": None,
        "generation": 1,
        "organisations": [],
        "roles": [],
    }
    session = {
        "user": user,
        "csrf_token": "csrf",
        "must_change_password": False,
        "current_password_needed": True,
        "permissions": [],
        "expires_at": "2026-11-16T10:00:00Z",
        "via": "session",
    }
    server.reply(body=session, Set_Cookie="corral_session=abc; HttpOnly; Path=/; SameSite=Lax")
    server.reply(204)

    with sign_in(server.url, "mei", "password") as signed_in:
        assert signed_in.session.user.name == "mei"

    first, last = server.asked
    assert first.body == {"provider": "local", "name": "mei", "password": "password"}
    assert (last.method, last.path) == ("DELETE", "/api/v1/session")
    assert last.headers["cookie"] == "corral_session=abc"
    assert last.headers["x-csrf-token"] == "csrf"


def test_a_wrong_password_is_asked_for_once(server: Script) -> None:
    server.reply(401, {**PROBLEM, "type": "/problems/login-failed", "status": 401})
    with pytest.raises(Problem) as caught:
        sign_in(server.url, "mei", "wrong")
    assert caught.value.kind == "login-failed"
    assert caught.value.facts["tries_left"] == 2
    assert len(server.asked) == 1


def test_the_package_needs_nothing_but_the_standard_library() -> None:
    # Some machines' Python loads modules of its own at every start.
    ask = (
        "import sys; before = set(sys.modules); import corral_sdk;"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    loaded = subprocess.run([sys.executable, "-I", "-c", ask], capture_output=True, text=True, check=True)
    others = set(loaded.stdout.split()) - set(sys.stdlib_module_names) - {"corral_sdk", "__main__"}
    assert not {name for name in others if not name.startswith(("_editable", "_virtualenv", "__"))}
