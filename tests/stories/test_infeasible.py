"""Work above the limit of its queue is infeasible; when the limit is raised it runs by itself."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live import LiveCorral, running_corral
from tests.stories.people import administrator, new_person, wait_for


@pytest.fixture
def corral(tmp_path: Path) -> Iterator[LiveCorral]:
    with running_corral(tmp_path, environment={"CORRAL_SIMULATED_GPUS": "4xH100-80GB"}) as running:
        yield running


def test_work_above_its_limit_runs_by_itself_when_the_limit_is_raised(corral: LiveCorral) -> None:
    admin = administrator(corral)
    ana = new_person(admin, "ana")
    root = admin.call("GET", "/organisations")["items"][0]["id"]
    queue = admin.call("POST", "/queues", {"organisation_id": root, "user_id": ana.id})
    (pool,) = wait_for(lambda: admin.call("GET", "/pools")["items"], bool)

    def limit(gpus: int) -> None:
        quota = {"pool_id": pool["id"], "resource": "gpu_milli", "limit": gpus * 1000}
        admin.call("PATCH", f"/queues/{queue['id']}", {"quotas": [quota]}, **{"If-Match": "*"})

    limit(2)
    work = ana.submit("wide", ["echo", "at last"], gpus=3)
    seen = ana.wait(work, "infeasible")
    told = "Can never run because it asks for 3 GPU, and the limit of its queue is 2 GPU."
    assert seen["reason"]["sentence"] == told
    limit(3)
    seen = ana.wait(work, "succeeded")
    assert [one["reason"]["why"] for one in seen["transitions"]][:4] == [
        "submitted",
        "infeasible",
        "feasible",
        "placed",
    ]
    assert "at last" in ana.output(work, 1)
