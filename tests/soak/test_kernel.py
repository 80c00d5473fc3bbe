"""The local engine on a kernel with control groups of version 2 and quotas, over a restart, when the clock
jumps."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.soak import disk_scenes
from tests.soak.machine import play, play_as_user, play_with_disk


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


def test_quotas_of_the_file_system_keep_disk_limits(shared: Path) -> None:
    told = play_with_disk("quotas", shared, "prjquota,uquota")
    assert told["limits"] == "enforced by quotas of the file system"
    most = disk_scenes.DISK_MIB
    # What was in flight is gone with the work, and with it the sign that there was no room.
    words = {"write": f"exit code 1; its disk limit of {most} MiB was reached", "in-flight": "exit code 1"}
    for name, detail in words.items():
        mib, error = json.loads(told[name][2])
        assert told[name][:2] == ["failed", detail], name
        assert most - 2 <= mib <= most, name
        assert error in {"ENOSPC", "EDQUOT"}, name
    ending, detail, output = told["many"]
    count, error = json.loads(output)
    assert detail == f"exit code 1; its disk limit of {disk_scenes.FILES} files was reached"
    assert (ending, error) == ("failed", "ENOSPC")
    assert disk_scenes.FILES - 10 <= count < disk_scenes.FILES


def test_work_leaves_neither_its_project_nor_the_bound_of_its_owner(shared: Path) -> None:
    told = play_with_disk("quotas", shared, "prjquota,uquota")
    ending, _, output = told["leave"]
    refused = {"project": "EPERM", "inherit": "EPERM", "chattr": "EPERM", "file_setattr": "ENOSYS"}
    assert (ending, json.loads(output)) == ("succeeded", {"enclosed": True, **refused, "below": True})
    mib, error = json.loads(told["person"][2])
    assert error == "EDQUOT"
    assert mib <= disk_scenes.PERSON_MIB + 2 * disk_scenes.HOME_MIB
    assert "of its owner" in told["person"][1]
    assert len(told["projects"]) == 4
    assert len(told["projects_after"]) == 2
    assert not set(told["projects_after"][1:]) & set(told["projects"])  # no number is given twice
    assert told["projects_left"] == []


def test_disk_without_quotas_is_bounded_by_looking(shared: Path) -> None:
    told = play_with_disk("no_quotas", shared, "noquota")
    assert told["limits"] == "by looking: the file system has no quotas that Corral can set"
    assert told["write"][:2] == ["failed", f"wrote 200 MiB, its disk limit is {disk_scenes.DISK_MIB} MiB"]
