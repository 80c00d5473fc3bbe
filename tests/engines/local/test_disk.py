"""What work may keep on disk: workspaces and homes, by looking."""

from pathlib import Path

from corral.engines.interface import Ending, RunPhase, Start
from tests.engines.local.places import LocalPlace, local_place

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
