"""What work may keep on disk: workspaces and homes, by looking."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from corral.engines.interface import Ending, RunPhase, Start
from tests.engines.local.places import LocalPlace, local_place

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at what is mapped")
FILL = "head -c 30M /dev/zero > {}; echo full; sleep 60"


async def test_run_that_writes_more_than_it_may_is_ended_and_told_why() -> None:
    async with local_place(disk_look_seconds=0.1) as local:
        ended = await local.finish(local.sized("a", "sh", "-c", FILL.format("data"), disk_mib=20))
        assert ended.ending is Ending.FAILED
        assert ended.detail.endswith("MiB, its disk limit is 20 MiB")
        within = await local.finish(local.sized("b", "sh", "-c", "head -c 5M /dev/zero > data", disk_mib=20))
        assert within.ending is Ending.SUCCEEDED


async def test_run_that_writes_too_much_and_ends_before_anyone_looked_is_found_out() -> None:
    async with local_place(disk_look_seconds=60) as local:
        ended = await local.finish(local.sized("a", "sh", "-c", "head -c 30M /dev/zero > data", disk_mib=20))
        assert (ended.ending, ended.exit_code) == (Ending.FAILED, 0)
        assert ended.detail.endswith("MiB, its disk limit is 20 MiB")
        assert ended.usage is not None
        assert ended.usage.disk_bytes is not None
        assert ended.usage.disk_bytes >= 30 * 2**20


def at_home(local: LocalPlace, name: str, command: str) -> Start:
    return local.sized(name, "sh", "-c", command, home=True)


def count_of_home(local: LocalPlace) -> Path:
    return local.directory / "data" / "home-counts" / "ada"


async def test_home_that_grows_beyond_its_bound_ends_the_work_that_has_it_open() -> None:
    async with local_place(disk_look_seconds=0.1, home_mib=20) as local:
        without = local.start("endless-a")
        await local.engine.start([without])
        ended = await local.finish(at_home(local, "b", FILL.format("$HOME/data")))
        assert ended.ending is Ending.FAILED
        assert ended.detail.startswith("the home of its owner holds ")
        assert ended.detail.endswith(" MiB, its limit is 20 MiB: remove files there")
        assert (await local.reach("endless-a", RunPhase.RUNNING)).phase is RunPhase.RUNNING


async def test_owner_of_a_home_that_is_too_full_can_tidy_up_but_not_fill_it_further() -> None:
    async with local_place(disk_look_seconds=0.1, home_mib=20) as local:
        await local.finish(at_home(local, "a", FILL.format("$HOME/data")))
        more = await local.finish(at_home(local, "b", FILL.format("$HOME/more")))
        assert more.ending is Ending.FAILED
        assert int(count_of_home(local).read_text()) > 20
        count_of_home(local).write_text("41")
        refused = await local.finish(at_home(local, "c", "true"))
        assert refused.ending is Ending.REFUSED
        assert "an administrator has to remove files there or to raise home_mib" in refused.detail
        count_of_home(local).write_text("30")  # as if the administrator had
        local.settings["disk_look_seconds"] = 60  # nobody looks while it tidies up
        await local.forget_what_was_told()
        tidied = await local.finish(at_home(local, "d", "rm $HOME/data $HOME/more"))
        assert tidied.ending is Ending.SUCCEEDED


UNLINKED = """
import os, sys, time
data = open("data", "wb")
os.unlink("data")
data.write(bytes(30 * 2**20))
data.flush()
os.fsync(data.fileno())
print("written", flush=True)
time.sleep(60)
"""
MAPPED = UNLINKED.replace(
    'print("written"',
    "import mmap\nview = mmap.mmap(os.open(f'/proc/self/fd/{data.fileno()}', os.O_RDWR), 30 * 2**20)\n"
    'data.close()\nos.closerange(3, 100)\nprint("written"',
)
# Each hides the descriptor from who looks at the descriptors of a process.
LEADER_GONE = """
import ctypes, threading
def hold():
    {unlinked}
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall(60 if __import__("os").uname().machine == "x86_64" else 93, 0)
""".replace("{unlinked}", UNLINKED.strip().replace("\n", "\n    "))
OWN_TABLE = """
import ctypes, threading
def hold():
    assert ctypes.CDLL(None).unshare(0x400) == 0  # CLONE_FILES
    {unlinked}
thread = threading.Thread(target=hold)
thread.start()
thread.join()
""".replace("{unlinked}", UNLINKED.strip().replace("\n", "\n    "))
MANY = """
import os, time
for number in range(600):
    open(f"{number}", "w").close()
print("made", flush=True)
time.sleep(60)
"""


async def test_deleted_file_that_is_still_open_counts() -> None:
    async with local_place(disk_look_seconds=0.1) as local:
        ended = await local.finish(local.sized("a", "python3", "-c", UNLINKED, disk_mib=20))
        assert ended.ending is Ending.FAILED
        assert re.fullmatch(
            r"wrote \d\d MiB \(\d\d MiB of it deleted and still open\), its disk limit is 20 MiB",
            ended.detail,
        )


@AS_ROOT
async def test_deleted_file_that_is_only_mapped_counts() -> None:
    async with local_place(disk_look_seconds=0.1) as local:
        ended = await local.finish(local.sized("a", "python3", "-c", MAPPED, disk_mib=20))
        assert "deleted and still open" in ended.detail, await local.output("a")


@pytest.mark.parametrize("script", [LEADER_GONE, OWN_TABLE], ids=["leader-gone", "own-table"])
async def test_deleted_file_that_one_thread_keeps_open_counts(script: str) -> None:
    async with local_place(disk_look_seconds=0.1) as local:
        ended = await local.finish(local.sized("a", "python3", "-c", script, disk_mib=20))
        assert "deleted and still open" in ended.detail, await local.output("a")


async def test_too_many_files_end_the_work_that_makes_them() -> None:
    async with local_place(disk_look_seconds=0.1, workspace_files=500) as local:
        ended = await local.finish(local.sized("a", "python3", "-c", MANY))
        assert ended.ending is Ending.FAILED
        assert ended.detail == "made 600 files and directories, its limit is 500"
        few = MANY.replace("600", "400").replace("sleep(60)", "sleep(0)")
        assert (await local.finish(local.sized("b", "python3", "-c", few))).ending is Ending.SUCCEEDED


async def test_home_may_not_hold_too_many_files() -> None:
    async with local_place(disk_look_seconds=0.1, home_mib=1000, workspace_files=500) as local:
        many = f"import os; os.chdir(os.environ['HOME']){MANY}"
        ended = await local.finish(local.sized("a", "python3", "-c", many, home=True))
        assert ended.detail == (
            "the home of its owner holds 600 files and directories, its limit is 500: remove some there"
        )


async def test_all_workspaces_of_a_person_have_a_bound_together() -> None:
    async with local_place(disk_look_seconds=0.1, person_mib=50, person_files=1000) as local:
        fill = ("sh", "-c", "head -c 30M /dev/zero > data")
        assert (await local.finish(local.sized("a", *fill))).ending is Ending.SUCCEEDED
        second = await local.finish(local.sized("b", *fill))
        assert second.ending is Ending.FAILED
        assert second.detail.startswith("the workspaces of its owner hold 60 MiB together")
        third = await local.finish(local.sized("c", "true"))
        assert third.ending is Ending.REFUSED
        assert third.detail.endswith("the limit is 50 MiB: delete work that is over")
        other = local.sized("d", *fill)
        assert other.task is not None
        bens = replace(other, task=replace(other.task, owner="ben"))
        assert (await local.finish(bens)).ending is Ending.SUCCEEDED
        await local.engine.forget(["b", "c"])
        await local.engine.discard(["b", "c"])
        assert (await local.finish(local.sized("e", "true"))).ending is Ending.SUCCEEDED
