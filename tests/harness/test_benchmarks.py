"""Benchmarks are run seldom: at least they always load."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = sorted(Path(__file__).parents[2].glob("benchmarks/[a-z]*.py"))


@pytest.mark.parametrize("name", [path.stem for path in BENCHMARKS])
def test_benchmark_loads(name: str) -> None:
    importlib.import_module(f"benchmarks.{name}")
