"""Examples on this machine: real processes in real sandboxes, with the SDK that Corral puts there."""

import json
import shutil
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from corral_sdk._packing import pack

from corral.engines.archives.limits import Form
from corral.engines.contents import Content
from corral.engines.interface import Ending, RunPhase, Start
from corral.engines.tasks import Task
from corral.runtimes import builds
from corral.runtimes.builds import RuntimeSpec
from corral.training.documents import TrainingDocument
from corral.training.spec import TrainingSpec
from corral.training.tasks import command_line, environment, own_environment
from tests.engines.local.places import LocalPlace, local_place
from tests.resolved import resolved, stored

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as place:
        yield place


@pytest.fixture
def upload(tmp_path: Path, local: LocalPlace) -> Content:
    archive = tmp_path / "examples.tar.gz"
    with archive.open("wb") as file:
        pack(EXAMPLES, file)
    return local.contents.put(archive, Form.GZIP)


def starts(local: LocalPlace, upload: Content, attempt: int = 1, **document: object) -> list[Start]:
    given = {"name": "x", "resources": {"cpu_milli": 500, "memory_mib": 256}} | document
    spec = resolved(TrainingSpec.model_validate(given), TrainingDocument)
    tasks = [
        Task(
            "someone",
            command_line(spec),
            "work",
            environment(spec, "work") | own_environment(spec, number, attempt),
            upload=upload,
            memory_mib=256,
            resume=attempt > 1,
        )
        for number in range(spec.replicas)
    ]
    return [
        Start(f"work-{attempt}-{number}", "work", f"work-{number}", attempt, local.node, (), task)
        for number, task in enumerate(tasks)
    ]


async def test_training_goes_on_after_what_it_saved(local: LocalPlace, upload: Content) -> None:
    document: dict[str, object] = {"command": ["count.py"], "parameters": {"epochs": 6, "seconds": 0.2}}
    await local.engine.start(starts(local, upload, **document))
    await local.wrote("work-1-0", "epoch 1")
    await local.engine.signal(["work-1-0"], 20)
    first = await local.reach("work-1-0", RunPhase.ENDED)
    assert first.ending is Ending.SUSPENDED
    assert "everything is saved" in await local.output("work-1-0")
    await local.engine.forget(["work-1-0"])

    await local.engine.start(starts(local, upload, attempt=2, **document))
    second = await local.reach("work-2-0", RunPhase.ENDED)
    assert (second.ending, second.said_done) == (Ending.SUCCEEDED, True)
    lines = (await local.output("work-1-0") + await local.output("work-2-0")).splitlines()
    epochs = [line.partition(":")[0] for line in lines if line.startswith("epoch")]
    assert epochs == [f"epoch {number}" for number in range(6)]
    assert any(line.startswith("going on after epoch") for line in lines)


async def test_gang_exchanges_numbers(local: LocalPlace, upload: Content) -> None:
    await local.engine.start(starts(local, upload, command=["gang.py"], replicas=4))
    for number in range(4):
        assert (await local.reach(f"work-1-{number}", RunPhase.ENDED)).ending is Ending.SUCCEEDED
        assert "all of us have 30" in await local.output(f"work-1-{number}")


async def test_one_process_for_each_gpu_with_its_rank(local: LocalPlace, upload: Content) -> None:
    document = {
        "command": ["sh", "-c", "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE"],
        "launch": "torchrun",
        "replicas": 2,
        "resources": {"cpu_milli": 500, "memory_mib": 256, "gpu": {"count": 2}},
    }
    await local.engine.start(starts(local, upload, **document))
    written = ""
    for number in range(2):
        assert (await local.reach(f"work-1-{number}", RunPhase.ENDED)).ending is Ending.SUCCEEDED
        written += await local.output(f"work-1-{number}")
    assert sorted(written.splitlines()) == ["0/4 0/2", "1/4 1/2", "2/4 0/2", "3/4 1/2"]


def wheel(where: Path) -> None:
    """A package that needs nothing from anywhere."""
    meta = "demo-1.0.dist-info"
    with zipfile.ZipFile(where / "demo-1.0-py3-none-any.whl", "w") as file:
        file.writestr("demo.py", "WORD = 'from the runtime'")
        file.writestr(f"{meta}/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        file.writestr(f"{meta}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{meta}/RECORD", "")


async def build(local: LocalPlace, given: Path, requirement: str) -> str:
    """Builds a runtime of a package that lies in the workspace; what it wrote."""
    archive = given.with_suffix(".tar")
    with archive.open("wb") as file:
        pack(given, file)
    document = stored(RuntimeSpec.of("demo", 1, [requirement], None, None))
    row = SimpleNamespace(id="build", name="runtime demo:1", user_id="someone", stored=document)
    context = SimpleNamespace(package_index="")
    task = builds.tasks(context, None, row, [SimpleNamespace(number=0)])[0]  # type: ignore[arg-type, list-item]
    task = replace(task, upload=local.contents.put(archive, Form.GZIP))
    await local.engine.start([Start("build-1-0", "build", "build-0", 1, local.node, (), task)])
    built = await local.reach("build-1-0", RunPhase.ENDED)
    output = await local.output("build-1-0")
    assert built.ending is Ending.SUCCEEDED, output
    assert output.endswith("The runtime is ready.\n")
    return output


async def test_built_runtime_is_used_read_only_and_goes_with_its_build(
    local: LocalPlace, upload: Content, tmp_path: Path
) -> None:
    (tmp_path / "given").mkdir()
    wheel(tmp_path / "given")
    output = await build(local, tmp_path / "given", "demo @ file:///workspace/demo-1.0-py3-none-any.whl")
    assert "demo @ file:///workspace" in output
    left = {one.name for one in (local.directory / "data/runtimes/build").iterdir()}
    assert left == {"env", "seal.json"}
    assert not (local.directory / "data/workspaces/build").exists()

    look = "import sys, demo; print(sys.prefix, demo.WORD); open(sys.prefix + '/mine', 'w')"
    use = starts(local, upload, command=["python", "-c", look], runtime="any:1")[0]
    assert use.task is not None
    await local.engine.start([replace(use, task=replace(use.task, runtime="build"))])
    used = await local.reach("work-1-0", RunPhase.ENDED)
    output = await local.output("work-1-0")
    assert used.ending is Ending.FAILED
    assert "/workspaces/build/env from the runtime\n" in output
    assert "Read-only file system" in output

    for run in ("build-1-0", "work-1-0"):
        await local.engine.forget([run])
    await local.engine.discard(["build"])
    again = replace(use, run="work-2-0", attempt=2, task=replace(use.task, runtime="build"))
    await local.engine.start([again])
    refused = await local.reach("work-2-0", RunPhase.ENDED)
    assert refused.ending is Ending.REFUSED
    assert "runtime is no longer there" in refused.detail


async def test_runtime_is_built_where_no_uv_is_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One that does nothing hides any that the machine may have.
    shutil.copy("/bin/false", tmp_path / "uv")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/sbin:/usr/bin:/sbin:/bin")
    (tmp_path / "given").mkdir()
    wheel(tmp_path / "given")
    async with local_place() as place:
        await build(place, tmp_path / "given", "demo @ file:///workspace/demo-1.0-py3-none-any.whl")


HOSTILE = """
import json, os, pathlib, zipfile

def look(path):
    try:
        return os.listdir(path) if os.path.isdir(path) else open(path).read()
    except OSError as error:
        return type(error).__name__

def build_wheel(directory, config_settings=None, metadata_directory=None):
    paths = json.loads(pathlib.Path("paths.json").read_text())
    found = {path: look(path) for path in paths} | {"uid": os.getuid(), "pids": len(look("/proc"))}
    name = "hostile-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, name), "w") as file:
        file.writestr("hostile.py", "FOUND = " + repr(found))
        meta = "hostile-1.0.dist-info/"
        file.writestr(meta + "METADATA", "Metadata-Version: 2.1\\nName: hostile\\nVersion: 1.0\\n")
        file.writestr(meta + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        file.writestr(meta + "RECORD", "")
    return name
"""


async def test_package_that_runs_code_while_it_is_installed_sees_nothing(
    local: LocalPlace, upload: Content, tmp_path: Path
) -> None:
    """What a `setup.py` would do."""
    await local.engine.start([local.sized("neighbour", "sleep", "600")])
    await local.reach("neighbour", RunPhase.RUNNING)
    data = local.directory / "data"
    (data / "keys").write_text("the key of everything")
    paths = [str(data / "keys"), str(data), str(data / "workspaces/neighbour"), "/root", "/etc/shadow"]
    package = tmp_path / "given" / "hostile"
    package.mkdir(parents=True)
    (package / "paths.json").write_text(json.dumps(paths))
    (package / "backend.py").write_text(HOSTILE)
    (package / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
        '[project]\nname = "hostile"\nversion = "1.0"\n'
    )
    await build(local, tmp_path / "given", "hostile @ file:///workspace/hostile")
    show = "import hostile, json; print(json.dumps(hostile.FOUND))"
    use = starts(local, upload, command=["python", "-c", show], runtime="any:1")[0]
    assert use.task is not None
    await local.finish(replace(use, task=replace(use.task, runtime="build")))
    found = json.loads(await local.output("work-1-0"))
    assert found.pop("uid") != 0
    assert found.pop("pids") < 100
    # Of the data directory it sees the way to its own place, and what Corral put there for it.
    assert sorted(found.pop(str(data))) == ["tools", "workspaces"]
    assert set(found.values()) == {"FileNotFoundError"}
