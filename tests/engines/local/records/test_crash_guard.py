"""A start that ends Corral itself is tried a few times, alone, and then fails in words."""

import os
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from corral.engines.interface import Ending
from corral.engines.local.files.workspaces import Workspaces
from corral.engines.local.records import crash_guard
from corral.engines.local.records.crash_guard import CrashGuard
from tests.engines.local.places import LocalPlace, local_place


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as place:
        yield place


def killed_while_starting(data: Path, workload: str) -> None:
    """A process that begins a start and dies of it."""
    pid = os.fork()
    if pid == 0:
        with CrashGuard(data).counted(workload) as refusal:
            os._exit(9 if refusal is None else 0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9, "it was not begun"


async def test_start_that_ends_corral_is_given_up_in_words(
    local: LocalPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (local.directory / "data").mkdir()
    for _ in range(crash_guard.MOST):
        killed_while_starting(local.directory / "data", "a")
    monkeypatch.setattr(Workspaces, "provide", lambda *_: pytest.fail("it was begun once more"))
    ended = await local.finish(local.sized("a", "true"))
    assert ended.ending is Ending.REFUSED
    assert ended.detail == "Corral ended 3 times while it was being started: submit it again, or leave it"
    monkeypatch.undo()
    ended = await local.finish(local.sized("b", "true"))
    assert ended.ending is Ending.SUCCEEDED
    assert [one.name for one in (local.directory / "data" / "starting").iterdir()] == ["a"]
    await local.engine.forget(["a"])
    await local.engine.discard(["a"])
    assert list((local.directory / "data" / "starting").iterdir()) == []


async def test_start_that_is_through_is_not_counted(local: LocalPlace) -> None:
    (local.directory / "data").mkdir()
    for _ in range(crash_guard.MOST - 1):
        killed_while_starting(local.directory / "data", "a")
    ended = await local.finish(local.sized("a", "true"))
    assert ended.ending is Ending.SUCCEEDED
    assert list((local.directory / "data" / "starting").iterdir()) == []


def test_those_that_were_begun_before_are_started_one_at_a_time(tmp_path: Path) -> None:
    """Beside the one at fault, others would be counted with it."""
    for name in ("a", "b"):
        killed_while_starting(tmp_path, name)
    begun = CrashGuard(tmp_path)
    second = threading.Event()

    def start() -> None:
        with begun.counted("b"):
            second.set()

    with begun.counted("a"):
        other = threading.Thread(target=start)
        other.start()
        with begun.counted("new") as refusal:  # others go on
            assert refusal is None
        assert not second.is_set()
    other.join(10)
    assert second.is_set()


def test_note_that_was_cut_off_counts(tmp_path: Path) -> None:
    begun = CrashGuard(tmp_path)
    (tmp_path / "starting" / "a").write_bytes(b"")
    killed_while_starting(tmp_path, "a")
    killed_while_starting(tmp_path, "a")
    with begun.counted("a") as refusal:
        assert refusal is not None
