"""`make check` runs what a change touches."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch, runner: ModuleType) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    monkeypatch.setitem(sys.modules, "test", runner)  # the standard library has one, too
    return importlib.import_module("check")


def test_package_is_tested_with_those_that_import_it(check: ModuleType) -> None:
    found = check.touched(["src/corral/queues/service.py"], {"queues": {"workloads", "cli"}})
    assert (found.folders, found.stages) == ({"queues", "workloads"}, {"cli"})


def test_each_surface_has_its_stage(check: ModuleType) -> None:
    files = ["web/src/app.tsx", "docs/architecture.md", "sdk/src/corral_sdk/run.py", "tests/engines/a.py"]
    assert check.touched(files, {}).stages == {"console", "docs", "sdk", "engines"}


def test_what_no_test_belongs_to_touches_nothing(check: ModuleType) -> None:
    found = check.touched(["CHANGELOG.md", "tests/conftest.py", "Makefile"], {})
    assert (found.folders, found.stages) == (set(), set())


def test_imports_are_read_from_the_source(check: ModuleType, tmp_path: Path) -> None:
    for package, text in (("queues", "from corral.store.database import Database"), ("store", "import re")):
        (tmp_path / package).mkdir()
        (tmp_path / package / "service.py").write_text(text)
    assert check.importers(tmp_path) == {"store": {"queues"}}


def test_change_of_a_package_runs_its_tests_on_both_databases(check: ModuleType) -> None:
    chosen = check.chosen_stages(check.Touched({"cli"}, {"queues"}))
    assert [stage.name for stage in chosen] == ["lint", "types", "imports", "unit", "cli", "touched"]
    assert "tests/queues" in chosen[-1].checks[0].command


def test_inner_loop_starts_a_corral_only_where_that_is_touched(check: ModuleType) -> None:
    unit, touched = check.chosen_stages(check.Touched(set(), {"server"}))[-2:]
    (quick,) = [word for word in unit.checks[0].command if "sqlite" in word]
    assert quick == "not sqlite and not postgresql and not live"
    assert "sqlite or postgresql or live" in touched.checks[0].command
