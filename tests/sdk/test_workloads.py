"""Output that is followed goes on where it stopped, whatever happens to Corral meanwhile."""

import json
import os
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from corral_sdk import Client, Problem, _workloads

from tests.sdk.conftest import Script


@pytest.fixture
def client(server: Script, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(_workloads, "_PAUSE_SECONDS", 0.0)
    return Client(server.url, "secret", environ={"HOME": "/nonexistent"})


def _part(text: str, offset: int, *, ended: bool = False) -> dict[str, object]:
    end = offset + len(text)
    numbers = {"attempt": 2, "replica": 0, "offset": offset, "next": end, "dropped": 0}
    return {**numbers, "ended": ended, "text": text}


def _asked(server: Script) -> list[tuple[str | None, str]]:
    """Attempt and offset of every question."""
    queries = [parse_qs(urlsplit(one.path).query) for one in server.asked]
    return [(each.get("attempt", [None])[0], each["after"][0]) for each in queries]


def test_following_goes_on_at_its_offset_after_corral_was_away(server: Script, client: Client) -> None:
    server.reply(200, _part("first ", 0))
    for _ in range(3):
        server.hang_up()
    server.reply(503, {"title": "Not available now", "status": 503}, Retry_After="60")
    server.reply(200, _part("second", 6, ended=True))

    parts = list(client.workloads.logs("w1", follow=True))

    assert "".join(part.text for part in parts) == "first second"
    assert _asked(server)[0] == (None, "0")
    assert set(_asked(server)[1:]) == {("2", "6")}


def test_refusal_ends_the_following(server: Script, client: Client) -> None:
    server.reply(404, {"title": "Not found", "status": 404})
    with pytest.raises(Problem):
        list(client.workloads.logs("w1", follow=True))
    assert len(server.asked) == 1


def test_without_following_all_that_is_there_is_read(server: Script, client: Client) -> None:
    server.reply(200, _part("first ", 0))
    server.reply(200, _part("second", 6))
    server.reply(200, _part("", 12))
    assert "".join(part.text for part in client.workloads.logs("w1")) == "first second"


def test_token_that_a_restart_made_new_is_found_again(server: Script, tmp_path: Path) -> None:
    endpoints = {"pid": os.getpid(), "api": f"{server.url}/api/v1", "console": server.url}
    (tmp_path / "endpoints.json").write_text(json.dumps(endpoints))
    (tmp_path / "local-token").write_text("old")
    client = Client(environ={"HOME": "/nonexistent", "CORRAL_HOME": str(tmp_path)})
    for _ in range(2):
        server.reply(401, {"title": "Not signed in", "status": 401})
    server.reply(200, _part("", 0, ended=True))
    with pytest.raises(Problem):
        client.workloads.log("w1")
    (tmp_path / "local-token").write_text("new")
    client.workloads.log("w1")
    client.workloads.log("w1")
    sent = [one.headers["authorization"] for one in server.asked]
    assert sent == ["Bearer old", "Bearer old", "Bearer new", "Bearer new"]
