"""A kind that Corral has never heard of lives its whole life: only the plug knows that it is there."""

import os
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from corral.api.parts import part
from corral.control.purge import Keeping
from corral.control.registry import ZoneRegistry
from corral.engines.simulated import Program
from corral.kinds.folders import WorkloadFolder
from corral.kinds.plug import KindContext
from corral.workloads.ownership import Owned
from corral.workloads.tables import workload
from tests.apps import ADMIN_PASSWORD
from tests.campus import made, refused
from tests.control.ground import Ground
from tests.kinds import toy_kind
from tests.kinds.toy_kind import TOY, toy

NEEDS = {"cpu_milli": 100, "memory_mib": 64}


async def submit(ground: Ground, name: str, **more: Any) -> str:
    document = {"name": name, "resources": NEEDS} | more
    return str(made(await ground.campus.admin.post("/toys", document))["id"])


async def count(ground: Ground, table: Any) -> int:
    return int(await ground.campus.database.read(lambda t: t.scalar(select(func.count()).select_from(table))))


async def test_toy_goes_from_submission_to_purge(ground: Ground) -> None:
    admin, database = ground.campus.admin, ground.campus.database
    ground.programs["duck"] = Program(None, 1, 2)
    work = await submit(ground, "duck", colour="yellow")
    assert made(await admin.get("/toys/colours"))["colours"] == {work: "yellow"}
    (listed,) = made(await admin.get("/workloads?kind=toy"))["items"]
    assert (listed["id"], listed["kind"], listed["state"]) == (work, "toy", "queued")
    await ground.pass_time(20)
    shown = await ground.get(work)
    assert (shown["state"], shown["spec"]["colour"]) == ("running", "yellow")
    assert ground.started[-1].task is not None
    assert ground.started[-1].task.command == ("paint", "yellow")
    painted = part(ground.campus.app, KindContext).data / "toys" / work
    assert painted.read_text() == "yellow"
    log = made(await admin.get(f"/workloads/{work}/logs"))
    assert "*********" in log["text"], "the kind says what is masked"
    assert "simulated" not in log["text"]

    made(await admin.post(f"/workloads/{work}/stop"))
    await ground.pass_time(20)
    made(await admin.post(f"/workloads/{work}/delete"))
    await ground.settle()
    os.utime(painted, (0, 0))
    folder = WorkloadFolder(painted.parent, "toy")
    assert folder.sweep(await database.read(folder.in_use), 10) == 1
    assert not painted.exists()

    ground.campus.clock.advance(days=40)
    await admin.sign_in("admin", ADMIN_PASSWORD)
    keeping = Keeping(deleted_work_days=30, owned=Owned.all_of([TOY.owned]))
    assert await database.write(keeping.forget_deleted_work, 500) == 1
    assert await count(ground, toy) == await count(ground, workload) == 0
    assert made(await admin.get("/toys/colours"))["colours"] == {}


async def test_toy_is_refused_in_the_words_of_its_kind(ground: Ground) -> None:
    document = {"name": "ghost", "resources": NEEDS, "colour": "invisible"}
    refused(await ground.campus.admin.post("/toys", document), 422, field="body.colour")
    refused(await ground.campus.admin.post("/toys", {"name": "ghost", "command": ["x"]}), 422)
    assert await count(ground, toy) == 0


async def test_application_is_built_with_everything_that_the_plug_has(ground: Ground) -> None:
    app = ground.campus.app
    assert "/api/v1/toys" in app.openapi()["paths"]
    assert "toy" in part(app, ZoneRegistry).equipment.kinds


async def test_sweeping_keeps_what_lives_and_follows_no_link(tmp_path: Path, ground: Ground) -> None:
    work = await submit(ground, "duck")
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "precious").touch()
    folder = WorkloadFolder(tmp_path / "folder", "toy")
    assert folder.sweep(set(), 10) == 0, "a folder that is not there yet"
    folder.directory.mkdir()
    (folder.directory / work).touch()
    (folder.directory / "w-of-nobody").symlink_to(victim)
    for entry in folder.directory.iterdir():
        os.utime(entry, (0, 0), follow_symlinks=False)
    (folder.directory / "too-young").touch()
    assert folder.sweep(await ground.campus.database.read(folder.in_use), 10) == 1
    assert sorted(one.name for one in folder.directory.iterdir()) == ["too-young", work]
    assert (victim / "precious").exists()


def test_toy_is_small() -> None:
    lines = Path(toy_kind.__file__).read_text().splitlines()
    code = [line for line in lines if line.strip() and not line.startswith(("from ", "import ", "#", '"""'))]
    assert len(code) <= 60, "whoever adds a kind writes about so much beside its own work"
