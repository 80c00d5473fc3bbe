"""A check that only reads files is run again when one of them changed, and not before."""

import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(
    runner: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Any, int]]:
    """Runs a check that reads `read`, and fails when that holds `bad`; its result, and how often it ran."""
    monkeypatch.setattr(runner, "OUTPUT", tmp_path)
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setenv("CORRAL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "read").mkdir()
    ran = tmp_path / "ran"

    def once(*words: str, anew: bool = False) -> tuple[Any, int]:
        program = f"echo >>{ran}; ! grep -rq bad {tmp_path}/read"
        check = runner.Check("check", ("sh", "-c", program, *words), reads=("read",))
        progress = runner.Progress("1/1 stage", live=False)
        result = runner.run_stage(runner.Stage("stage", (check,)), progress, (), stream=False, anew=anew)
        return result, len(ran.read_text().splitlines())

    return once


def test_what_passed_is_not_run_again_while_nothing_changed(run: Any, tmp_path: Path) -> None:
    (tmp_path / "read" / "a").write_text("good")
    assert run()[1] == 1
    result, times = run()
    assert (times, result.count.passed, result.count.failed) == (1, 1, 0)
    assert result.note == "passed before, nothing changed: check"
    assert run(anew=True)[1] == 2


@pytest.mark.parametrize("change", ["content", "name", "new", "gone", "folder"])
def test_any_change_of_what_is_read_runs_it_again(run: Any, tmp_path: Path, change: str) -> None:
    folder = tmp_path / "read"
    for name in ("a", "b"):
        (folder / name).write_text("good")
    run()
    if change == "content":
        (folder / "a").write_text("goof")
    elif change == "name":
        (folder / "a").rename(folder / "c")
    elif change == "new":
        (folder / "c").touch()
    elif change == "gone":
        (folder / "b").unlink()
    else:
        (folder / "below").mkdir()
        (folder / "b").rename(folder / "below" / "b")
    assert run()[1] == 2


def test_another_command_is_another_check(run: Any, tmp_path: Path) -> None:
    run()
    assert run("--strict")[1] == 2


def test_what_failed_is_run_until_it_passes(run: Any, tmp_path: Path) -> None:
    (tmp_path / "read" / "a").write_text("bad")
    assert run()[0].count.failed == 1
    assert run()[1] == 2


def test_check_that_reads_what_is_not_there_is_an_error(run: Any, tmp_path: Path) -> None:
    (tmp_path / "read").rmdir()
    with pytest.raises(ValueError, match="reads read, which is not there"):
        run()


def test_console_imports_nothing_from_outside_its_folder() -> None:
    """Its linter and its compiler read `web` only."""
    web = _ROOT / "web"
    found = []
    for file in (one for folder in ("src", "tests", "scripts") for one in (web / folder).rglob("*")):
        if file.suffix in {".ts", ".tsx", ".mjs", ".js"}:
            for name in re.findall(r"""(?:from|import\(|import)\s*['"](\.[^'"]+)['"]""", file.read_text()):
                target = (file.parent / name).resolve()
                found += [] if target.is_relative_to(web) else [f"{file.relative_to(web)}: {name}"]
    assert found == []
