"""What replicas execute, shown beforehand and carried out the same."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from corral.training.documents import TrainingDocument
from corral.training.spec import TrainingSpec
from corral.training.tasks import command_line
from tests.campus import made, refused
from tests.control.ground import Ground
from tests.resolved import resolved

EXAMPLES = Path(__file__).parents[2] / "examples"
NEEDS = {"cpu_milli": 1000, "memory_mib": 1024}


def spec(**more: Any) -> TrainingSpec:
    return TrainingSpec.model_validate({"name": "x", "command": ["true"], "resources": NEEDS} | more)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"command": ["train.py", "-v"]}, ["python3", "train.py", "-v"]),
        ({"command": ["python", "train.py"]}, ["python3", "train.py"]),
        ({"command": ["python", "train.py"], "runtime": "mine"}, ["python", "train.py"]),
        ({"command": ["bash", "run.sh"]}, ["bash", "run.sh"]),
        (
            {"command": ["./fit"], "parameters": {"lr": "1e-4", "epochs": 3, "fast": True, "note": "a b"}},
            ["./fit", "--lr", "1e-4", "--epochs", "3", "--fast", "true", "--note", "a b"],
        ),
        (
            {"command": ["train.py"], "launch": "torchrun", "parameters": {"lr": 1}},
            ["python3", "-m", "corral_sdk.launch", "--", "python3", "train.py", "--lr", "1"],
        ),
    ],
)
def test_command_line_has_interpreter_parameters_and_launcher(given: Any, line: list[str]) -> None:
    assert list(command_line(resolved(spec(**given), TrainingDocument))) == line


@pytest.mark.parametrize("name", ["RANK", "MASTER_ADDR", "CORRAL_SOCKET", "CUDA_VISIBLE_DEVICES"])
def test_variables_of_corral_cannot_be_given(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} is set by Corral"):
        spec(environment={name: "1"})


@pytest.mark.parametrize("name", ["hello", "count", "gang"])
def test_document_of_an_example_is_whole(name: str) -> None:
    document = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())
    read = TrainingSpec.model_validate(document)
    assert (read.name, (EXAMPLES / read.command[0]).is_file()) == (name, True)
    assert read.resources is not None


async def test_preview_is_what_replicas_are_started_with(ground: Ground) -> None:
    admin = ground.campus.admin
    made(await admin.put("/me/secrets/key", {"value": "hidden-value"}))
    document = {
        "name": "gang",
        "command": ["train.py"],
        "launch": "torchrun",
        "replicas": 2,
        "resources": NEEDS | {"gpu": {"count": 3}},
        "environment": {"SEED": "7"},
        "secrets": {"API_KEY": "key"},
    }
    shown = made(await admin.post("/training/preview", document))
    assert shown["environment"]["API_KEY"] == "********"
    assert (shown["environment"]["WORLD_SIZE"], shown["environment"]["LOCAL_WORLD_SIZE"]) == ("6", "3")
    assert [one["environment"]["RANK"] for one in shown["replicas"]] == ["0", "3"]
    assert [one["environment"]["NODE_RANK"] for one in shown["replicas"]] == ["0", "1"]
    assert "MASTER_ADDR" in shown["set_at_start"]
    assert made(await admin.get("/workloads"))["items"] == []

    work = made(await admin.post("/training", document))["id"]
    await ground.settle()
    for start, replica in zip(ground.started, shown["replicas"], strict=True):
        assert start.task is not None
        assert list(start.task.command) == shown["command"]
        expected = shown["environment"] | replica["environment"] | {"CORRAL_WORKLOAD": work}
        assert dict(start.task.environment) | {"API_KEY": "********"} == expected


async def test_preview_refuses_what_submission_would(ground: Ground) -> None:
    answer = await ground.campus.admin.post("/training/preview", {"name": "x", "command": ["true"]})
    refused(answer, 422, "invalid", "body.flavor")


@pytest.mark.parametrize(
    ("asked", "same"),
    [
        ({"amount": "2"}, {"count": 2}),
        ({"amount": "2x8Gi", "compute_percent": 25}, {"count": 2, "memory_mib": 8192, "compute_percent": 25}),
        ({"amount": "0.5", "models": ["H100"]}, {"fraction_milli": 500, "models": ["H100"]}),
        ({"amount": "1g.10gb"}, {"profile": "1g.10gb"}),
        ("2x8Gi", {"count": 2, "memory_mib": 8192}),
    ],
)
def test_amount_of_gpu_is_read_by_the_api_alone(asked: Any, same: Any) -> None:
    """What command and console send as it was typed means the same as the numbers."""
    one, other = (spec(resources=NEEDS | {"gpu": gpu}) for gpu in (asked, same))
    assert one.model_dump() == other.model_dump()


@pytest.mark.parametrize(
    "asked",
    [{"amount": "0"}, {"amount": "two"}, {"amount": "2", "count": 2}, {"amount": "8Gi", "profile": "x"}],
)
def test_amount_that_says_nothing_or_too_much_is_refused(asked: Any) -> None:
    with pytest.raises(ValueError, match=r"GPU|not both"):
        spec(resources=NEEDS | {"gpu": asked})


@pytest.mark.parametrize("value", [None, [], {}, ["1"]])
def test_parameter_is_text_or_a_number(value: Any) -> None:
    with pytest.raises(ValueError, match="a parameter is text"):
        spec(parameters={"lr": value})
