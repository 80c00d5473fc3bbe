"""`make test` counts honestly: what breaks outside a test case is a failure too."""

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

import pytest

_TESTS = Path(__file__).parents[1]
_REPORT = """<testsuites><testsuite>
  <testcase name="a"/><testcase name="b"/>
  <testcase name="c"><failure message="no"/></testcase>
  <testcase name="d"><error message="no"/></testcase>
  <testcase name="e"><skipped/></testcase>
</testsuite></testsuites>"""


class RunStage(Protocol):
    def __call__(self, program: str, *, junit: bool = False) -> Any: ...


@pytest.fixture
def stage_of(runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStage:
    """Runs one stage with a single check, a Python program, and gives its result."""
    monkeypatch.setattr(runner, "OUTPUT", tmp_path)
    monkeypatch.setattr(runner, "ROOT", tmp_path)

    def run(program: str, *, junit: bool = False) -> Any:
        check = runner.Check("check", (sys.executable, "-c", program), junit=junit)
        progress = runner.Progress("1/1 stage", live=False)
        result = runner.run_stage(runner.Stage("stage", (check,)), progress, (), stream=False)
        progress.show()
        return result

    return run


def test_files_that_tests_leave_in_the_checkout_are_noticed(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    assert runner.untracked_files() == set()
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text(".cache\n")
    (tmp_path / ".cache").write_text("kept")
    (tmp_path / "no such thing!").write_text("an export")
    assert runner.untracked_files() == {".gitignore", "no such thing!"}


def test_cases_of_a_report_are_counted_by_outcome(runner: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "report.xml").write_text(_REPORT)
    assert runner.count_junit(tmp_path / "report.xml") == runner.Count(passed=2, failed=2, skipped=1)


def test_command_counts_as_one(stage_of: RunStage) -> None:
    assert stage_of("pass").count.passed == 1
    assert stage_of("raise SystemExit(3)").count.failed == 1


def test_failed_command_shows_its_output(stage_of: RunStage, capsys: pytest.CaptureFixture[str]) -> None:
    stage_of("print('line 12: wrong word'); raise SystemExit(1)")
    assert "line 12: wrong word" in capsys.readouterr().out


def test_run_that_breaks_before_its_first_case_fails(stage_of: RunStage) -> None:
    assert stage_of("raise SystemExit(2)", junit=True).count.failed == 1


def test_run_without_any_case_fails(stage_of: RunStage) -> None:
    assert stage_of("pass", junit=True).count.failed == 1


def test_run_whose_cases_passed_but_which_ended_badly_fails(stage_of: RunStage) -> None:
    program = (
        "import sys; path = sys.argv[-1].partition('=')[2];"
        "open(path, 'w').write('<testsuite><testcase name=\"a\"/></testsuite>'); raise SystemExit(1)"
    )
    count = stage_of(program, junit=True).count
    assert (count.passed, count.failed) == (1, 1)


def test_command_that_hangs_is_stopped_and_fails(
    runner: ModuleType,
    stage_of: RunStage,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "STAGE_TIMEOUT_SECONDS", 0.2)
    assert stage_of("import time; time.sleep(600)").count.failed == 1


def test_what_the_stages_of_databases_leave_out_uses_none(runner: ModuleType) -> None:
    asks = re.compile(
        r"^(?:async )?def test_[^)]*\b(?:database\w*|app|admin|campus|ground)\s*:", re.MULTILINE
    )
    places = [_TESTS / place for place in sys.modules["stages"].WITHOUT_DATABASE]
    files = [file for place in places for file in (place.rglob("*.py") if place.is_dir() else (place,))]
    assert len(files) > len(places)
    assert [file.name for file in files if asks.search(file.read_text(encoding="utf-8"))] == []
