"""Amounts as people write them: the same text means the same everywhere, quoted or not."""

from typing import Any

import pytest
from pydantic import ValidationError

from corral.core import quantities
from corral.core.quantities import Gpus
from corral.core.resources import Resource
from corral.workloads.spec import Resources

CORES: list[tuple[Any, int]] = [
    (1, 1000),
    ("1", 1000),
    (0.5, 500),
    ("0.5", 500),
    (0.29, 290),
    (1.001, 1001),
    ("500m", 500),
    ("2 cores", 2000),
    (64, 64000),
    ("0.0001", 1),
]
SIZES = [("1Gi", 1024), ("512Mi", 512), ("1.5GiB", 1536), ("1G", 954), ("2T", 1907349), ("1048577B", 2)]
DEVICES: list[tuple[Any, Gpus | None]] = [
    (2, Gpus(2)),
    ("2", Gpus(2)),
    (2.0, Gpus(2)),
    (0, None),
    ("8Gi", Gpus(1, memory_mib=8192)),
    ("2x8Gi", Gpus(2, memory_mib=8192)),
    (0.5, Gpus(1, fraction_milli=500)),
    (".25", Gpus(1, fraction_milli=250)),
    ("0.500", Gpus(1, fraction_milli=500)),
    ("2x0.5", Gpus(2, fraction_milli=500)),
    ("1g.10gb", Gpus(1, profile="1g.10gb")),
    ("3x1g.10gb+me", Gpus(3, profile="1g.10gb+me")),
    ("3x1g.10gb", Gpus(3, profile="1g.10gb")),
    ("1g.10gb+me", Gpus(1, profile="1g.10gb+me")),
    ("2x8Gi", Gpus(2, memory_mib=8192)),
    ("0", None),
]


@pytest.mark.parametrize(("given", "milli"), CORES)
def test_cores(given: Any, milli: int) -> None:
    assert quantities.millicores(quantities.written(given)) == milli
    assert Resources.model_validate({"cpu": given, "memory": "1Gi"}).cpu_milli == milli


@pytest.mark.parametrize(("given", "mib"), SIZES)
def test_sizes(given: str, mib: int) -> None:
    assert quantities.mebibytes(given) == mib
    assert Resources.model_validate({"cpu": 1, "memory": given}).memory_mib == mib


@pytest.mark.parametrize(("given", "devices"), DEVICES)
def test_gpus(given: Any, devices: Gpus | None) -> None:
    assert quantities.gpus(quantities.written(given)) == devices
    found = Resources.model_validate({"cpu": 1, "memory": "1Gi", "gpu": given}).gpu
    assert (found and Gpus(found.count, found.memory_mib, found.fraction_milli, found.profile)) == devices


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("cpu", -1, "number of cores"),
        ("cpu", "-1", "number of cores"),
        ("cpu", "two", "number of cores"),
        ("cpu", "1e3", "number of cores"),
        ("cpu", True, "neither a number nor a text"),
        ("cpu", [1], "neither a number nor a text"),
        ("cpu", float("inf"), "neither a number nor a text"),
        ("cpu", float("nan"), "neither a number nor a text"),
        ("cpu", 10**400, "neither a number nor a text"),
        ("cpu", "9" * 5000, "too long"),
        ("memory", 1024, "a number and a unit"),
        ("memory", "1024", "a number and a unit"),
        ("memory", "9" * 5000 + "Gi", "too long"),
        ("gpu", "1.5", "write 2 for two GPUs"),
        ("gpu", "0x8Gi", "write 2 for two GPUs"),
        ("gpu", "2x2", "write 2 for two GPUs"),
        ("gpu", 0.0005, "write 2 for two GPUs"),
        ("gpu", True, "neither a number nor a text"),
        ("gpu", "9" * 5000, "too long"),
    ],
)
def test_what_is_no_amount_is_refused_with_its_field(field: str, value: Any, words: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Resources.model_validate({"cpu": 1, "memory": "1Gi"} | {field: value})
    (error,) = refusal.value.errors()
    assert error["loc"] == (field,)
    assert words in error["msg"]


@pytest.mark.parametrize("text", ["1", "500", "0.5"])
def test_bare_text_in_a_field_of_thousandths_is_refused(text: str) -> None:
    """`cpu_milli: 1` was a thousandth of a core and `cpu_milli: "1"` a whole one."""
    with pytest.raises(ValidationError, match=f"write cpu: {text} for cores"):
        Resources.model_validate({"cpu_milli": text, "memory_mib": 1})
    with pytest.raises(ValidationError, match="without quotes"):
        Resources.model_validate({"cpu": 1, "memory": "1Gi", "gpu": {"fraction_milli": text}})
    assert Resources.model_validate({"cpu_milli": 1, "memory_mib": 1}).cpu_milli == 1


def test_text_with_its_unit_is_the_same_in_every_field() -> None:
    old = Resources.model_validate({"cpu_milli": "500m", "memory_mib": "1Gi", "gpu": {"memory_mib": "8Gi"}})
    assert old == Resources.model_validate({"cpu": "500m", "memory": "1Gi", "gpu": "8Gi"})


def test_amount_is_given_once() -> None:
    with pytest.raises(ValidationError, match="give cpu or cpu_milli"):
        Resources.model_validate({"cpu": 1, "cpu_milli": 1000, "memory": "1Gi"})


def test_what_is_stored_is_read_as_it_was() -> None:
    for given in ({"cpu": 0.5, "memory": "1Gi", "gpu": "8Gi"}, {"cpu_milli": 1, "memory_mib": 1}):
        first = Resources.model_validate(given)
        assert Resources.model_validate(first.model_dump(mode="json")) == first


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        (Resource.GPU_MILLI, "2", 2000),
        (Resource.GPU_MILLI, "0.5", 500),
        (Resource.CPU_MILLI, "500m", 500),
        (Resource.CPU_MILLI, "4", 4000),
        (Resource.MEMORY_MIB, "16Gi", 16384),
    ],
)
def test_amount_is_in_the_unit_of_its_resource(resource: Resource, text: str, amount: int) -> None:
    assert quantities.amount(text, resource) == amount


@pytest.mark.parametrize("text", ["", "-1", "many", "0.0001", "8Gi", "1e3", "9" * 50])
def test_text_that_is_no_number_of_gpus_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"GPU|too long"):
        quantities.gpu_milli(text)


@pytest.mark.parametrize("text", ["", "x", "two", "2x", "x8Gi", "2x2", "1.5", "-1", "2x2x8Gi"])
def test_what_is_no_amount_of_gpu_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="8Gi"):
        quantities.gpus(text)
