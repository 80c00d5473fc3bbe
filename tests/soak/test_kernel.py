"""The local engine on a kernel with control groups of version 2, over a restart, when the clock jumps."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.soak.machine import play, play_as_user


@pytest.fixture
def shared() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="corral-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.parametrize("player", [play, play_as_user], ids=["root", "user"])
def test_limits_hold_under_version_2(shared: Path, player: Callable[[str, Path], dict[str, Any]]) -> None:
    """An ordinary user has them where a group was handed over."""
    told = player("limits", shared)
    assert told["notes"] == []
    assert told["own"] == "0::/corral.service/server"
    assert told["bomb"] == ["failed", "out of memory at its limit of 64 MiB", True]
    ending, word, count = told["forks"]
    assert (ending, word) == ("succeeded", "forked")
    assert int(count) < 20
    assert all(value is not None for value in told["live"])
    assert told["live"][2] >= 1
    assert told["stubborn"] == "suspended"
    assert told["groups_left"] == []


def test_what_ran_before_a_restart_is_lost_once_and_what_had_ended_is_kept(shared: Path) -> None:
    before = play("before_restart", shared)
    assert before["a"] == "running"
    after = play("after_restart", shared)
    assert after["boot"] != before["boot"]
    assert after["a"] == ["lost", "the machine was restarted"]
    assert after["b"] == ["failed", 3]
    assert after["c"] == "succeeded"


def test_clock_that_jumps_changes_no_duration(shared: Path) -> None:
    told = play("clock", shared)
    assert told["ending"] == "succeeded"
    assert 2 <= told["recorded_seconds"] < told["took_seconds"] + 1
    assert told["mark_is_of_this_boot"]
