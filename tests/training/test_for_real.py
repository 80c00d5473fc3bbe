"""Examples on this machine: real processes in real sandboxes, with the SDK that Corral puts there."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from corral_sdk._packing import pack

from corral.engines.interface import Ending, RunPhase, Start
from corral.engines.tasks import Task
from corral.training.spec import TrainingSpec
from corral.training.tasks import command_line, environment, own_environment
from tests.engines.local.places import LocalPlace, local_place

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as place:
        yield place


@pytest.fixture
def upload(tmp_path: Path) -> Path:
    archive = tmp_path / "examples.tar.gz"
    with archive.open("wb") as file:
        pack(EXAMPLES, file)
    return archive


def starts(local: LocalPlace, upload: Path, attempt: int = 1, **document: object) -> list[Start]:
    spec = TrainingSpec.model_validate(
        {"name": "x", "resources": {"cpu_milli": 500, "memory_mib": 256}} | document
    )
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


async def test_training_goes_on_after_what_it_saved(local: LocalPlace, upload: Path) -> None:
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


async def test_gang_exchanges_numbers(local: LocalPlace, upload: Path) -> None:
    await local.engine.start(starts(local, upload, command=["gang.py"], replicas=4))
    for number in range(4):
        assert (await local.reach(f"work-1-{number}", RunPhase.ENDED)).ending is Ending.SUCCEEDED
        assert "all of us have 30" in await local.output(f"work-1-{number}")


async def test_one_process_for_each_gpu_with_its_rank(local: LocalPlace, upload: Path) -> None:
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


async def test_built_environment_is_read_only_and_goes_with_its_build(
    local: LocalPlace, upload: Path
) -> None:
    script = '"$CORRAL_UV" venv --clear --python python3 "$CORRAL_BUILD"'
    build = starts(local, upload, command=["sh", "-c", script])[0]
    assert build.task is not None
    task = replace(build.task, builds=True, workspace="build", upload=None)
    await local.engine.start(
        [replace(build, run="build-1-0", workload="build", replica="build-0", task=task)]
    )
    built = await local.reach("build-1-0", RunPhase.ENDED)
    assert built.ending is Ending.SUCCEEDED, await local.output("build-1-0")

    look = "import sys, os; print(sys.prefix); open(sys.prefix + '/mine', 'w')"
    use = starts(local, upload, command=["python", "-c", look], runtime="any:1")[0]
    assert use.task is not None
    await local.engine.start([replace(use, task=replace(use.task, runtime="build"))])
    used = await local.reach("work-1-0", RunPhase.ENDED)
    output = await local.output("work-1-0")
    assert used.ending is Ending.FAILED
    assert "/runtimes/build/env\n" in output
    assert "Read-only file system" in output

    for run in ("build-1-0", "work-1-0"):
        await local.engine.forget([run])
    await local.engine.discard(["build"])
    await local.engine.start(
        [replace(use, run="work-2-0", attempt=2, task=replace(use.task, runtime="build"))]
    )
    refused = await local.reach("work-2-0", RunPhase.ENDED)
    assert refused.ending is Ending.REFUSED
    assert "runtime is no longer there" in refused.detail
