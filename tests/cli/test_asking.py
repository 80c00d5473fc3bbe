"""What people write after `corral run`, as the document that the API takes."""

import pytest

from corral.cli.asking import (
    command_of,
    name_of,
    parameters_of,
    resources_of,
    secrets_of,
    variables_of,
)
from corral.cli.refusals import CommandError


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
