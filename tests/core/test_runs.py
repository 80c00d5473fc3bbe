"""Names of runs and replicas are written and read in one place, and nothing else is taken for one."""

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from corral.core.runs import ReplicaId, RunId

NUMBERS = some.integers(min_value=0, max_value=999_999_999)
IDS = some.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=1, max_size=26)


@given(IDS, NUMBERS, NUMBERS)
def test_what_is_written_is_read_again(workload_id: str, attempt: int, replica: int) -> None:
    run = RunId(workload_id, attempt, replica)
    assert RunId.parse(str(run)) == run
    assert f"{run}" == f"{workload_id}-{attempt}-{replica}"
    assert ReplicaId.parse(str(ReplicaId(workload_id, replica))) == (workload_id, replica)


@pytest.mark.parametrize(
    "text",
    [
        *("", "-", "w1", "w1-", "w1-1", "w1-1-", "-1-1", "w1-1-1-1", "w1-01-1", "w1-1-+1", "w1-1-1 "),
        *("w1-\u0661-1", "w1--1-1", "../x-1-1-", "w1-1-1\n", "w1-1-" + "9" * 5000),
    ],
)
def test_other_names_are_no_runs(text: str) -> None:
    assert RunId.parse(text) is None


@pytest.mark.parametrize("text", ["", "w1", "-1", "w1-", "w1-x", "w1-01"])
def test_other_names_are_no_replicas(text: str) -> None:
    with pytest.raises(ValueError, match="names no replica"):
        ReplicaId.parse(text)


def test_nobody_else_splits_names_at_hyphens() -> None:
    """Engines name directories of their own; backups carry a stamp."""
    source = Path(__file__).parents[2] / "src/corral"
    others = {"core/runs.py", "store/backup.py"}
    found = [
        f"{path.relative_to(source)}:{node.lineno}"
        for path in source.rglob("*.py")
        if str(path.relative_to(source)) not in others
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"split", "rsplit", "partition", "rpartition"}
        and any(isinstance(given, ast.Constant) and given.value == "-" for given in node.args)
    ]
    assert found == []
