"""A test stays away from PostgreSQL only if others execute each of its statements there."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path(__file__).parents[1]


@pytest.fixture
def cover(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TESTS.parent / "tools"))
    return importlib.import_module("cover")


def test_covered_are_those_whose_statements_others_execute(cover: ModuleType) -> None:
    shapes = {"a": frozenset("xy"), "b": frozenset("x"), "c": frozenset("yz"), "d": frozenset("z")}
    assert cover.covered(shapes, [], times=1) == ["b", "d"]
    assert cover.covered(shapes, ["b"], times=1) == ["a", "d"]
    assert cover.covered(shapes, [], times=2) == []


def test_of_two_that_would_do_the_cheaper_runs(cover: ModuleType) -> None:
    shapes = {"dear": frozenset("xy"), "cheap": frozenset("xy")}
    assert cover.covered(shapes, [], {"dear": 9.0, "cheap": 0.1}, times=1) == ["dear"]


def test_statement_that_only_sqlite_saw_is_named_with_its_test(cover: ModuleType) -> None:
    on_sqlite = {"a": frozenset({"SELECT 1", "PRAGMA x"}), "b": frozenset({"SELECT 2"})}
    assert cover.uncovered(on_sqlite, {"b": frozenset({"SELECT 2"})}) == {"SELECT 1": "a"}
    assert cover.uncovered(on_sqlite, {"a": frozenset({"SELECT 2"})}) == {}
    assert cover.uncovered(on_sqlite, on_sqlite) == {}


def test_test_that_does_several_things_at_once_runs_on_both(cover: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "async def test_one(admin):\n    await admin.get('/')\n"
        "async def test_many(admin):\n    await asyncio.gather(admin.get('/'), admin.get('/'))\n"
    )
    assert not cover.runs_always("test_a.py::test_one[database]", tmp_path)
    assert cover.runs_always("test_a.py::test_many[database]", tmp_path)
    assert cover.runs_always("test_a.py::test_renamed[database]", tmp_path)
    assert cover.runs_always("tests/store/test_hints.py::test_a[database]", tmp_path)


def test_name_is_the_same_on_both_databases(cover: ModuleType) -> None:
    assert cover.without_kind("t.py::test_postgresql[postgresql-1]") == "t.py::test_postgresql[database-1]"
    assert cover.without_kind("t.py::test_a[1-sqlite]") == "t.py::test_a[1-database]"


def test_what_is_covered_exists_and_may_be_left_out(cover: ModuleType) -> None:
    covered = [line for line in cover.COVERED.read_text().splitlines() if not line.startswith("#")]
    gone = [test for test in covered if not (cover.ROOT / test.partition("::")[0]).exists()]
    assert gone == [], "make cover"
    assert [test for test in covered if cover.runs_always(test)] == [], "make cover"
