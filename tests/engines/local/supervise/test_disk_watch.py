"""What work may keep on disk: workspaces and homes, by looking."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from corral.core.refusals import Conflict
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


async def test_deleted_file_that_is_only_mapped_counts() -> None:
    async with local_place(disk_look_seconds=0.1) as local:
        ended = await local.finish(local.sized("a", "python3", "-c", MAPPED, disk_mib=20))
        assert "deleted and still open" in ended.detail, await local.output("a")


# Each sends files without a name through a socket and keeps no descriptor of them.
IN_FLIGHT = """
import os, socket, time
def fill(mib):
    file = os.open("data", os.O_WRONLY | os.O_CREAT)
    os.unlink("data")
    for _ in range(mib):
        os.write(file, bytes(2**20))
    os.fsync(file)
    return file
def send(where, *files):
    socket.send_fds(where, [b"x"], files)
    for file in files:
        os.close(file)
{}
print("sent", flush=True)
time.sleep(60)
"""
WAYS = {
    "stream": "left, right = socket.socketpair()\nsend(left, fill(30))",
    "datagrams": """
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
left.send(b"words")
left.send(b"")
for _ in range(3):
    send(left, os.open("/dev/null", os.O_RDONLY))
    send(left, fill(10))
""",
    "packets": """
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
send(left, fill(5), fill(5), fill(5))
send(left, fill(15))
left.close()
""",
    "behind-data": """
left, right = socket.socketpair()
left.send(b"words" * 1000)
send(left, fill(10))
left.send(b"words" * 1000)
send(left, fill(20))
left.close()
""",
    "socket-in-socket": """
left, right = socket.socketpair()
inner, outer = socket.socketpair()
send(inner, fill(30))
send(left, outer.detach())
""",
}


@pytest.mark.parametrize("way", WAYS)
async def test_deleted_file_that_travels_through_a_socket_counts(way: str) -> None:
    async with local_place(disk_look_seconds=0.1) as local:
        start = local.sized("a", "python3", "-c", IN_FLIGHT.replace("{}", WAYS[way]), disk_mib=20)
        ended = await local.finish(start)
        assert "deleted and still open" in ended.detail, await local.output("a")
        assert ended.detail.endswith("its disk limit is 20 MiB")


NOT_ACCEPTED = """
listener = socket.socket(socket.AF_UNIX)
listener.bind("\\0here")
listener.listen(5)
left = socket.socket(socket.AF_UNIX)
left.connect("\\0here")
for _ in range(6):
    send(left, fill(15))
"""


async def test_files_that_wait_where_nobody_can_look_end_work_when_the_disk_fills_up() -> None:
    # On a disk that others hardly use meanwhile.
    async with local_place(Path("/dev/shm"), disk_look_seconds=0.1) as local:
        program = IN_FLIGHT.replace("{}", NOT_ACCEPTED)
        ended = await local.finish(local.sized("a", "python3", "-c", program, disk_mib=20))
        assert ended.ending is Ending.FAILED
        assert re.match(r"\d open files wait in its sockets, where they cannot be counted", ended.detail)
        few = program.replace("range(6)", "range(1)").replace("sleep(60)", "sleep(1)")
        within = await local.finish(local.sized("b", "python3", "-c", few, disk_mib=2000))
        assert within.ending is Ending.SUCCEEDED, within.detail + await local.output("b")


KEPT_WHOLE = """
left, right = socket.socketpair()
for number in range(3):
    send(left, fill(1))
print("sent", flush=True)
time.sleep(1)  # while it is looked at, again and again
for number in range(3):
    data, files, _, _ = socket.recv_fds(right, 1, 3)
    assert (data, len(files), os.fstat(files[0]).st_size) == (b"x", 1, 2**20), (data, files)
raise SystemExit
"""


async def test_looking_at_what_is_in_flight_takes_nothing_away() -> None:
    async with local_place(disk_look_seconds=0.05) as local:
        program = IN_FLIGHT.replace("{}", KEPT_WHOLE)
        ended = await local.finish(local.sized("a", "python3", "-c", program, disk_mib=20))
        assert ended.ending is Ending.SUCCEEDED, await local.output("a")


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
        # A look may find it while it still writes.
        found = re.match(r"the workspaces of its owner hold (\d+) MiB together", second.detail)
        assert found is not None, second.detail
        assert 50 < int(found[1]) <= 60
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


async def test_home_of_a_person_who_left_is_removed_when_no_work_of_theirs_is_there() -> None:
    async with local_place(disk_look_seconds=0.1, home_mib=20) as local:
        home = local.directory / "data" / "homes" / "ada"
        stays = await local.finish(at_home(local, "a", "mkdir -p $HOME/x/y && echo 1 > $HOME/x/y/z"))
        assert stays.ending is Ending.SUCCEEDED
        with pytest.raises(Conflict, match="still there"):
            await local.engine.forget_person("ada")
        assert home.is_dir()
        await local.engine.forget(["a"])
        await local.engine.forget_person("ada")
        assert not home.exists()
        assert not count_of_home(local).exists()
        await local.engine.forget_person("ada")
