"""How runs of the local engine live and end, with real processes."""

import os
import signal
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from corral.engines.interface import Ending, RunPhase, Start
from corral.engines.reports import MessageKind
from tests.engines.engine_suite import Reader, everything
from tests.engines.local.marks import marked, wait_until_gone, wait_until_there
from tests.engines.local.places import SAY, LocalPlace, local_place

NEEDS_LIMITS = pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no limits here")


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


async def test_command_that_is_not_there_is_named(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("a", "no-such-command"))
    assert (ended.ending, ended.detail) == (Ending.FAILED, "cannot find file no-such-command")


async def test_script_that_is_not_there_is_named(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("a", "python3", "train.py", "--steps", "3"))
    assert (ended.ending, ended.detail) == (Ending.FAILED, "cannot find file train.py")


async def test_signal_that_ends_a_run_is_named(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("a", "sh", "-c", "kill -SEGV $$"))
    assert (ended.ending, ended.signal, ended.exit_code) == (Ending.FAILED, signal.SIGSEGV, None)
    assert ended.detail == "ended by signal 11 (SIGSEGV)"


async def test_end_is_marked_on_the_clock_that_nobody_sets(local: LocalPlace) -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    ended = await local.finish(local.sized("a", "true"))
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
    assert ended.ended_mark is not None
    boot, microseconds = ended.ended_mark
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()  # noqa: ASYNC240
    assert before < microseconds < after


async def test_exit_code_is_the_commands_own(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("a", "sh", "-c", "exit 42"))
    assert (ended.exit_code, ended.detail) == (42, "exit code 42")


# Leaves its session and its parent; what is left behind waits for it.
ESCAPE = """
import os
for _ in range(2):
    if os.fork():
        os.wait()
        os._exit(1)
    os.setsid()
"""


@NEEDS_LIMITS
@pytest.mark.parametrize("first", ["", ESCAPE], ids=["plain", "escaped"])
async def test_memory_bomb_ends_at_its_limit_and_says_so(local: LocalPlace, first: str) -> None:
    bomb = f"{first}\ndata = []\nwhile True: data.append(bytearray(b'x') * (8 << 20))"
    ended = await local.finish(local.sized("a", "python3", "-c", bomb, memory_mib=64))
    assert (ended.ending, ended.out_of_memory) == (Ending.FAILED, True)
    assert ended.detail == "out of memory at its limit of 64 MiB"


@NEEDS_LIMITS
async def test_fork_bomb_ends_at_its_number_of_processes(local: LocalPlace) -> None:
    bomb = (
        "import os, time\ncount = 0\n"
        "try:\n    while True:\n        if os.fork() == 0: time.sleep(60)\n        count += 1\n"
        "except OSError: print('forked', count)"
    )
    ended = await local.finish(local.sized("a", "python3", "-c", bomb, processes=20))
    assert ended.ending is Ending.SUCCEEDED
    word, count = (await local.output("a")).split()
    assert word == "forked"
    assert int(count) < 20


@NEEDS_LIMITS
async def test_busy_work_gets_no_more_cpu_than_its_limit(local: LocalPlace) -> None:
    spin = (
        "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
        "print('used', round(time.process_time() * 1000))"
    )
    ended = await local.finish(local.sized("a", "python3", "-c", spin, cpu_milli=100))
    assert ended.ending is Ending.SUCCEEDED
    used = int((await local.output("a")).split()[-1])
    assert 0 < used < 500, f"{used} ms in a second, with a limit of a tenth"


async def test_time_limit_ends_a_run_and_is_named(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("a", "sleep", "60", time_limit_seconds=1))
    assert (ended.ending, ended.timed_out) == (Ending.FAILED, True)
    assert ended.detail == "reached its time limit of 1 s"


async def test_what_left_its_session_ends_with_the_run(local: LocalPlace) -> None:
    seconds, words = marked()
    ended = await local.finish(local.sized("a", "sh", "-c", f"setsid sleep {seconds} & sleep 0.1"))
    assert ended.ending is Ending.SUCCEEDED
    wait_until_gone(words)


async def test_killed_supervisor_is_told_as_lost_once_and_leaves_nothing(local: LocalPlace) -> None:
    seconds, words = marked()
    reader = Reader(local.engine)
    await reader.read()
    command = f"(setsid sleep {seconds} &) ; setsid sleep {seconds} & echo started; sleep {seconds}"
    await local.engine.start([local.sized("a", "sh", "-c", command)])
    await local.wrote("a", "started")
    wait_until_there(words, 3)
    os.kill(local.supervisor("a"), signal.SIGKILL)
    ended = await local.reach("a", RunPhase.ENDED)
    assert (ended.ending, ended.detail) == (Ending.LOST, "its supervisor was killed")
    assert ended.exit_code is None
    wait_until_gone(words)
    assert [run.ending for run in (await reader.read()).runs][-1] is Ending.LOST
    await local.forget_what_was_told()
    assert (await everything(local.engine))["a"].ending is Ending.LOST


async def test_attempt_of_another_boot_is_lost(local: LocalPlace) -> None:
    await local.engine.start([local.sized("endless-a", "sleep", "60")])
    await local.reach("endless-a", RunPhase.RUNNING)
    await local.engine.close()
    os.kill(local.supervisor("endless-a"), signal.SIGKILL)
    begun = local.run_directory("endless-a") / "begun.json"
    begun.write_text(begun.read_text().replace('"boot_id":"', '"boot_id":"another-'))
    local.engine = local.another_engine()
    ended = await local.reach("endless-a", RunPhase.ENDED)
    assert (ended.ending, ended.detail) == (Ending.LOST, "the machine was restarted")


async def test_next_attempt_finds_the_workspace_and_is_told_to_resume(local: LocalPlace) -> None:
    program = "test -f saved && echo resumed $CORRAL_RESUME; touch saved; echo saved; exec sleep 60"
    first = local.sized("a", "sh", "-c", f"trap '' TERM; {program}")
    await local.engine.start([first])
    await local.wrote("a", "saved")
    await local.engine.signal(["a"], 0)
    assert (await local.reach("a", RunPhase.ENDED)).ending is Ending.SUSPENDED
    assert first.task is not None
    second = replace(first, run="a-2-0", attempt=2, task=replace(first.task, resume=True))
    await local.engine.start([second])
    await local.wrote("a-2-0", "resumed 1")


async def test_gang_talks_over_the_loopback_and_shares_memory(local: LocalPlace) -> None:
    serve = (
        "import os, socket\n"
        "place = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])\n"
        "open('/dev/shm/shared', 'w').write('in memory')\n"
        "with socket.create_server(place) as server:\n"
        "    connection, _ = server.accept()\n"
        "    print('heard', connection.recv(100).decode())\n"
    )
    call = (
        "import os, socket, time\n"
        "place = os.environ['MASTER_ADDR'], int(os.environ['MASTER_PORT'])\n"
        "for _ in range(400):\n"
        "    try:\n        connection = socket.create_connection(place); break\n"
        "    except ConnectionRefusedError: time.sleep(0.02)\n"
        "connection.sendall(('rank 1, ' + open('/dev/shm/shared').read()).encode())\n"
    )
    gang = local.gang("w", [("python3", "-c", serve), ("python3", "-c", call)])
    await local.engine.start(gang)
    endings = [(await local.reach(start.run, RunPhase.ENDED)).ending for start in gang]
    assert endings == [Ending.SUCCEEDED, Ending.SUCCEEDED]
    assert await local.output("w-0") == "heard rank 1, in memory\n"
    pids = {each.run for each in (await local.engine.observe()).runs}
    assert pids == {"w-0", "w-1"}


async def test_replicas_of_a_gang_end_one_by_one(local: LocalPlace) -> None:
    gang = local.gang("w", [("sh", "-c", "exit 3"), ("sleep", "60")])
    await local.engine.start(gang)
    assert (await local.reach("w-0", RunPhase.ENDED)).exit_code == 3
    assert (await local.reach("w-1", RunPhase.RUNNING)).phase is RunPhase.RUNNING
    await local.engine.forget(["w-0"])
    await local.engine.kill(["w-1"])
    await local.reach("w-1", RunPhase.ENDED)
    assert set(await everything(local.engine)) == {"w-1"}
    await local.engine.forget(["w-1"])
    assert not local.run_directory("w").exists()
    assert (await local.engine.logs("w-0", 0, 10)).ended


async def test_log_flood_is_bounded_and_counted(local: LocalPlace) -> None:
    count = 100 * 2**20
    ended = await local.finish(local.sized("a", "sh", "-c", f"yes 0123456789abcde | head -c {count}"))
    assert ended.ending is Ending.SUCCEEDED
    kept = local.run_directory("a") / "output-0"
    assert sum(path.stat().st_size for path in kept.iterdir()) <= 64 * 2**20
    first = await local.engine.logs("a", 0, 1000)
    assert first.dropped == first.offset > 30 * 2**20
    last = await local.engine.logs("a", count - 16, 1000)
    assert (last.data, last.next, last.ended) == (b"0123456789abcde\n", count, True)


async def test_secrets_reach_the_run_and_no_disk(local: LocalPlace) -> None:
    secret = f"secret-{uuid.uuid4()}"
    start = local.sized("endless-a", "sh", "-c", 'echo "${#KEY} $PLAIN"; sleep 60')
    assert start.task is not None
    task = replace(start.task, secrets={"KEY": secret}, environment={"PLAIN": 'it\'s "open"\n$HOME'})
    await local.engine.start([replace(start, task=task)])
    await local.wrote("endless-a", f'{len(secret)} it\'s "open"\n$HOME')
    assert _files_with(local.directory, "PLAIN") == ["spec.json"]
    assert _files_with(local.directory, secret) == []
    assert _commands_with(secret) == []
    assert secret not in repr(task)


def _commands_with(text: str) -> list[Path]:
    return [path for path in Path("/proc").glob("[0-9]*/cmdline") if _holds(path, text)]


def _files_with(directory: Path, text: str) -> list[str]:
    return [path.name for path in directory.rglob("*") if path.is_file() and _holds(path, text)]


def _holds(path: Path, text: str) -> bool:
    try:
        return text.encode() in path.read_bytes()
    except OSError:
        return False


async def test_what_a_run_says_wrongly_is_refused_and_the_rest_is_kept(local: LocalPlace) -> None:
    talk = (
        f"{SAY}\n"
        "talk.sendall(b'nonsense\\n'); print(talk.recv(1000).decode())\n"
        "print(say('steal'))\n"
        "print(say('report', deep=[1, 2]))\n"
        "print(say('report', step=7, loss=float('nan'), note='fine'))\n"
        "talk.sendall(b'[' * 15000 + b'\\n'); print(talk.recv(1000).decode())\n"
        "talk.sendall(b'x' * 40000)\n"
        "print(talk.recv(1000).decode())\n"
    )
    ended = await local.finish(local.sized("a", "python3", "-c", talk))
    assert ended.ending is Ending.SUCCEEDED, await local.output("a")
    answers = [line for line in (await local.output("a")).splitlines() if line]
    assert [answer.startswith('{"ok": true') for answer in answers] == [
        False,
        False,
        False,
        True,
        False,
        False,
    ]
    (message,) = await local.engine.messages({})
    assert (message.kind, message.body["step"], message.body["note"]) == (MessageKind.REPORT, 7, "fine")


@NEEDS_LIMITS
async def test_counters_grow_and_are_told_at_the_end(local: LocalPlace) -> None:
    burn = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass"
    ended = await local.finish(local.sized("a", "python3", "-c", burn))
    assert ended.usage is not None
    assert ended.usage.cpu_microseconds is not None
    assert 250_000 < ended.usage.cpu_microseconds < 3_000_000
    usage = await local.engine.usage(["a"])
    assert usage.runs["a"] == ended.usage
    node = usage.nodes["here"]
    assert 0 < node.cpu_busy_microseconds < node.cpu_total_microseconds
    assert 0 < node.memory_used_bytes < node.memory_total_bytes


async def test_start_without_a_task_is_refused(local: LocalPlace) -> None:
    ended = await local.finish(Start("a", "a", "0", 1, local.node))
    assert (ended.ending, ended.detail) == (Ending.REFUSED, "nothing is said about what it executes")


async def test_half_an_attempt_cannot_be_started_later(local: LocalPlace) -> None:
    gang = local.gang("w", [("sleep", "60"), ("sleep", "60")])
    await local.engine.start(gang[:1])
    with pytest.raises(ValueError, match="by one call"):
        await local.engine.start(gang)


async def test_gang_of_which_one_cannot_start_does_not_start(local: LocalPlace) -> None:
    gang = local.gang("w", [("sleep", "60"), ("sleep", "60")])
    await local.engine.start([gang[0], replace(gang[1], node="nowhere")])
    assert {run.ending for run in (await everything(local.engine)).values()} == {Ending.REFUSED}


async def test_way_out_leads_to_allowed_networks_only_and_is_closed_without_permission(
    local: LocalPlace,
) -> None:
    ask = (
        "import os, urllib.request, urllib.error\n"
        "print(os.environ.get('HTTP_PROXY'))\n"
        "try: urllib.request.urlopen('http://127.0.0.2:9/', timeout=5)\n"
        "except urllib.error.HTTPError as error: print(error.code)\n"
        "except urllib.error.URLError as error: print('unreachable')\n"
    )
    assert (await local.finish(local.sized("a", "python3", "-c", ask))).ending is Ending.SUCCEEDED
    assert (await local.output("a")).split() == ["http://127.0.0.1:3128", "403"]
    assert (await local.finish(local.sized("b", "python3", "-c", ask, network=False))).exit_code == 0
    assert (await local.output("b")).split() == ["None", "unreachable"]
