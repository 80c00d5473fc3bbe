"""A running Corral is given a directory and a secret, and runs the work for real."""

import time
from pathlib import Path

import pytest
from corral_sdk import Client
from corral_sdk.models import WorkloadDetail

from tests.live import LiveCorral

EXAMPLES = Path(__file__).parents[2] / "examples"
LIMIT_SECONDS = 90
NEEDS = {"cpu_milli": 500, "memory_mib": 256}


@pytest.fixture
def client(live_corral: LiveCorral) -> Client:
    return Client(environ={"CORRAL_HOME": str(live_corral.home), "HOME": "/nonexistent"})


def wait_for(client: Client, workload_id: str, state: str) -> WorkloadDetail:
    until = time.monotonic() + LIMIT_SECONDS
    while True:
        seen = client.workloads.get(workload_id)
        if seen.state == state:
            return seen
        assert time.monotonic() < until, (seen.state, seen.reason)
        time.sleep(0.2)


def output(client: Client, workload_id: str) -> str:
    return client.workloads.log(workload_id).text


def test_secret_of_uploaded_work_is_starred_in_its_output(client: Client, tmp_path: Path) -> None:
    (tmp_path / "show.py").write_text("import os\nprint('key', os.environ['API_KEY'])\n")
    client.secrets.set("key", "hidden-value-17")
    work = client.training.submit(
        {
            "name": "show",
            "command": ["show.py"],
            "secrets": {"API_KEY": "key"},
            "upload_id": client.uploads.send_directory(tmp_path).id,
            "resources": NEEDS,
        }
    )
    wait_for(client, work.id, "succeeded")
    assert output(client, work.id) == f"key {'*' * len('hidden-value-17')}\n"


def test_training_that_is_suspended_goes_on_where_it_stopped(client: Client) -> None:
    work = client.training.submit(
        {
            "name": "count",
            "command": ["count.py"],
            "parameters": {"epochs": 8, "seconds": 0.5},
            "upload_id": client.uploads.send_directory(EXAMPLES).id,
            "resources": NEEDS,
        }
    )
    until = time.monotonic() + LIMIT_SECONDS
    while client.workloads.get(work.id).state != "running" or "epoch 1:" not in output(client, work.id):
        assert time.monotonic() < until
        time.sleep(0.1)
    client.workloads.suspend(work.id)
    wait_for(client, work.id, "suspended")
    client.workloads.resume(work.id)
    ended = wait_for(client, work.id, "succeeded")
    assert ended.attempt == 2
    assert output(client, work.id).startswith("going on after epoch")
    assert "epoch 7:" in output(client, work.id)


SERVE = """
import http.server, pathlib, time
while not pathlib.Path("go").exists():
    time.sleep(0.02)
http.server.HTTPServer(("127.0.0.1", 8000), http.server.SimpleHTTPRequestHandler).serve_forever()
"""


def test_work_is_ready_when_its_server_answers(client: Client) -> None:
    work = client.training.submit(
        {
            "name": "serve",
            "command": ["python3", "-c", SERVE],
            "ports": ["web=8000/http"],
            "readiness": "web/",
            "resources": NEEDS,
        }
    )
    running = wait_for(client, work.id, "running")
    assert (running.ready_replicas, running.ready_at) == (0, None)
    with client.workloads.execute(work.id, ["touch", "/workspace/go"]) as session:
        for _ in session:
            pass
    until = time.monotonic() + LIMIT_SECONDS
    while (seen := client.workloads.get(work.id)).ready_at is None:
        assert time.monotonic() < until
        time.sleep(0.1)
    assert seen.ready_replicas == 1
    assert seen.ready_at == seen.attempts[0].replicas[0].ready_at
    client.workloads.stop(work.id)
    ended = wait_for(client, work.id, "stopped")
    assert (ended.ready_replicas, ended.ready_at) == (0, None)
