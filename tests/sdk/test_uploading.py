"""The client sends a directory to a running Corral, once."""

from pathlib import Path

import pytest
from corral_sdk import Client, Problem

from tests.live import LiveCorral


@pytest.fixture
def client(live_corral: LiveCorral) -> Client:
    return Client(environ={"CORRAL_HOME": str(live_corral.home), "HOME": "/nonexistent"})


def test_directory_is_sent_once_and_found_again(client: Client, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('hello')")
    (tmp_path / "data.bin").write_bytes(bytes(5_000_000))
    first = client.uploads.send_directory(tmp_path)
    assert (first.entries, first.unpacked_bytes) == (2, 5_000_014)
    assert client.uploads.send_directory(tmp_path) == first
    assert [each.id for each in client.uploads.list()] == [first.id]
    client.uploads.delete(first.id)
    assert list(client.uploads.list()) == []


def test_preview_shows_what_will_be_executed(client: Client) -> None:
    client.secrets.set("key", "hidden-value")
    shown = client.training.preview(
        {
            "name": "x",
            "command": ["train.py"],
            "parameters": {"lr": 0.1},
            "secrets": {"KEY": "key"},
            "resources": {"cpu_milli": 1000, "memory_mib": 64},
        }
    )
    assert shown.command == ("python3", "train.py", "--lr", "0.1")
    assert shown.environment["KEY"] == "********"
    client.secrets.delete("key")
    with pytest.raises(Problem, match="You have no secret"):
        client.training.preview({"name": "x", "command": ["true"], "secrets": {"KEY": "key"}})
