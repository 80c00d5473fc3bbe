"""What people write after `corral run`, as the document that the API takes."""

from typing import Any

import pytest

from corral.cli.asking import (
    command_of,
    gpu_of,
    name_of,
    parameters_of,
    resources_of,
    secrets_of,
    variables_of,
)
from corral.cli.refusals import CommandError


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("2", {"count": 2}),
        ("8Gi", {"count": 1, "memory_mib": 8192}),
        ("2x8Gi", {"count": 2, "memory_mib": 8192}),
        ("0.5", {"count": 1, "fraction_milli": 500}),
        (".25", {"count": 1, "fraction_milli": 250}),
        ("1g.10gb", {"count": 1, "profile": "1g.10gb"}),
        ("3x1g.10gb", {"count": 3, "profile": "1g.10gb"}),
        ("1g.10gb+me", {"count": 1, "profile": "1g.10gb+me"}),
        ("0", None),
    ],
)
def test_amounts_of_gpu(text: str, asked: dict[str, Any] | None) -> None:
    assert gpu_of(text) == asked


@pytest.mark.parametrize("text", ["", "x", "two", "2x", "x8Gi", "2x2", "1.5", "-1", "2x2x8Gi"])
def test_what_is_no_amount_of_gpu_is_refused_with_examples(text: str) -> None:
    with pytest.raises(CommandError) as refused:
        gpu_of(text)
    assert "8Gi" in refused.value.remedy


def test_python_file_alone_is_run_with_python() -> None:
    assert command_of(["train.py", "--lr", "1"]) == ["python", "train.py", "--lr", "1"]
    assert command_of(["./run.sh", "x"]) == ["./run.sh", "x"]
    assert name_of(["python", "src/train.py", "--lr"]) == "train"
    assert name_of(["/usr/bin/env", "true"]) == "env"


def test_parameters_and_sizes_are_sent_as_they_were_typed() -> None:
    given = ["lr=0.1", "epochs=3", "fast=true", "name=a=b", "rate=1e-4", "exact=0.10", "zip=007", "none="]
    assert parameters_of(given) == {
        "lr": "0.1",
        "epochs": "3",
        "fast": "true",
        "name": "a=b",
        "rate": "1e-4",
        "exact": "0.10",
        "zip": "007",
        "none": "",
    }
    with pytest.raises(CommandError):
        parameters_of(["lr"])
    assert resources_of("2x8Gi", "500m", "4Gi", ()) == {"cpu": "500m", "memory": "4Gi", "gpu": "2x8Gi"}
    assert resources_of("2x8Gi", None, None, ["H100"])["gpu"] == {"amount": "2x8Gi", "models": ["H100"]}


def test_variable_without_a_value_is_that_of_the_caller() -> None:
    assert variables_of(["A=b=c", "HERE", "EMPTY="], {"HERE": "x"}) == {"A": "b=c", "HERE": "x", "EMPTY": ""}
    with pytest.raises(CommandError) as refused:
        variables_of(["GONE"], {})
    assert "GONE=value" in refused.value.remedy
    assert secrets_of(["KEY=wandb", "TOKEN"]) == {"KEY": "wandb", "TOKEN": "TOKEN"}
