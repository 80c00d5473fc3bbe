"""The walk of one request in docs/architecture.md names files and functions that exist."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    [re.findall(r"`([^`]+)`", cell) for cell in line.strip("|").split("|")[1:]]
    for line in (ROOT / "docs" / "architecture.md")
    .read_text()
    .split("## The walk of one request")[1]
    .split("\n## ")[0]
    .splitlines()
    if line.startswith("| ") and "`" in line
]


def names_in(file: str) -> set[str]:
    """Functions, classes and methods as `Class.method`."""
    path = ROOT / (file if file.startswith("sdk/") else f"src/corral/{file}")
    found: set[str] = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            functions = (
                one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
            )
            found |= {f"{node.name}.{name}" for name in functions}
    return found


def test_walk_has_its_steps() -> None:
    assert len(ROWS) > 10


@pytest.mark.parametrize(("files", "functions"), ROWS, ids=lambda cell: cell[0])
def test_step_of_the_walk_is_where_it_says(files: list[str], functions: list[str]) -> None:
    assert functions
    for file, function in zip(files * (len(functions) if len(files) == 1 else 1), functions, strict=True):
        assert function in names_in(file)
