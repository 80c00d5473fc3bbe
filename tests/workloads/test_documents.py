"""Stored documents of every version are read, as values of their kind's own type."""

import ast
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from corral.core.workloads import DeviceRequest, Request
from corral.queues.rows import QueueRow, QuotaRow
from corral.queues.tables import queue, queue_quota
from corral.runtimes.builds import RuntimeDocument
from corral.training.documents import TrainingDocument
from corral.training.tasks import command_line
from corral.workloads.documents import VERSION, DamagedDocumentError, Document, StoredDocument
from corral.workloads.rows import AllocationRow, ReplicaRow, WorkloadRow
from corral.workloads.tables import allocation, replica, workload
from corral.zones.rows import DeviceRow, NodeRow, PoolRow
from corral.zones.tables import device, node, pool

SOURCE = Path(__file__).parents[2] / "src/corral"
KEPT = sorted((Path(__file__).parent / "documents").glob("*.json"))
FORMS: dict[str, type[Document]] = {"training": TrainingDocument, "runtime": RuntimeDocument}


def kept(name: str) -> StoredDocument:
    content = json.loads((Path(__file__).parent / "documents" / f"{name}.json").read_text())
    return StoredDocument(content, content["version"])


@pytest.mark.parametrize("name", [path.stem for path in KEPT])
def test_every_kept_document_is_read(name: str) -> None:
    document = kept(name)
    before = json.dumps(document.content)
    found = document.read(FORMS[document.content["kind"]])
    assert found.name == document.content["name"]
    assert document.upgraded()["version"] == VERSION
    assert json.dumps(document.content) == before, "what is stored is never rewritten"
    assert hash(found.resources) == hash(document.read(Document).resources)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.replicas = 2  # type: ignore[misc]


def test_documents_of_every_version_are_kept() -> None:
    assert {int(path.stem.partition("-")[0]) for path in KEPT} == set(range(1, VERSION + 1))


@pytest.mark.parametrize(
    ("name", "devices"),
    [
        ("1-without-gpu", None),
        ("1-whole-gpus", DeviceRequest(8, models=("H100", "A100"))),
        ("1-slice-by-memory", DeviceRequest(2, memory_mib=8192, compute_percent=25)),
        ("1-slice-by-fraction", DeviceRequest(1, fraction_milli=125)),
        ("1-mig-profile", DeviceRequest(1, profile="1g.10gb")),
    ],
)
def test_request_is_the_schedulers_value(name: str, devices: DeviceRequest | None) -> None:
    assert kept(name).read(Document).resources.request() == Request(2000, 4096, devices)


def test_parameters_of_the_first_version_give_the_command_line_that_they_gave() -> None:
    document = kept("1-parameters").read(TrainingDocument)
    line = ["python", "train.py", "--lr", "0.0001", "--epochs", "3", "--fast", "true", "--note", "a b"]
    assert list(command_line(document)) == [*line, "--tiny", "1e-07"]


def test_documents_from_before_zones_leave_the_zone_to_corral() -> None:
    document = kept("1-before-zones").read(TrainingDocument)
    assert (document.zone, document.zone_reason, document.simulation) == (None, None, None)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"resources": None}, "resources"),
        ({"resources": {"cpu_milli": -5, "memory_mib": 1, "gpu": None}}, "resources.cpu_milli"),
        ({"replicas": "many"}, "replicas"),
        ({"replicas": 0}, "replicas"),
        ({"pool_ids": 7}, "pool_ids"),
        ({"name": "x" * 10, "grace_seconds": 10**30}, "grace_seconds"),
        ({"command": "rm -rf secret-words"}, "command"),
    ],
)
def test_damaged_documents_are_named_by_their_place_and_never_quoted(
    changed: dict[str, Any], said: str
) -> None:
    document = StoredDocument(kept("2-training").content | changed)
    with pytest.raises(DamagedDocumentError) as caught:
        document.read(TrainingDocument)
    assert str(caught.value).startswith(said)
    assert "secret-words" not in str(caught.value)


@pytest.mark.parametrize("content", [None, [], 7, "text", {}])
def test_what_is_no_document_is_damaged(content: Any) -> None:
    with pytest.raises(DamagedDocumentError):
        StoredDocument(content).read(Document)


@pytest.mark.parametrize("version", [0, -3, VERSION + 1])
def test_versions_that_nobody_wrote_are_damaged(version: int) -> None:
    with pytest.raises(DamagedDocumentError, match="version"):
        StoredDocument(kept("2-training").content, version).read(Document)


def test_typed_rows_have_the_columns_of_their_tables() -> None:
    for form, table in (
        (WorkloadRow, workload),
        (ReplicaRow, replica),
        (AllocationRow, allocation),
        (PoolRow, pool),
        (NodeRow, node),
        (DeviceRow, device),
        (QueueRow, queue),
        (QuotaRow, queue_quota),
    ):
        assert list(form._fields) == [column.name for column in table.columns]  # type: ignore[attr-defined]


def test_nobody_reads_a_stored_document_by_its_keys() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] not in {"cli", "engines"}
        for node in ast.walk(ast.parse(path.read_text()))
        if (
            isinstance(node, ast.Subscript | ast.Attribute)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr == "spec"
            and not (isinstance(node.value.value, ast.Attribute) and node.value.value.attr == "c")
            and (isinstance(node, ast.Subscript) or node.attr in {"get", "items", "keys"})
        )
    ]
    assert found == []
