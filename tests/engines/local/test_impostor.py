"""A workload poses as its own supervisor: a false lock, a false record, false messages."""

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corral.engines.interface import Ending, RunPhase
from corral.engines.local.machine import isolation
from tests.engines.engine_suite import everything
from tests.engines.local.places import local_place

# Tries everything that a supervisor does to say how its attempt goes, and tells what came of each.
IMPOSTOR = """
import errno, fcntl, json, os, signal, socket, sys
run, sockets, pid = sys.argv[1], sys.argv[2], int(sys.argv[3])
own = os.environ["CORRAL_SOCKET"]
results = {}
def attempt(name, act):
    try:
        act()
        results[name] = "done"
    except OSError as error:
        results[name] = errno.errorcode.get(error.errno, "?")
def take_a_lock_of_ones_own():
    os.rename(run + "/lock", run + "/lock.old")
    fcntl.lockf(os.open(run + "/lock", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX | fcntl.LOCK_NB)
def write_a_record():
    with open(run + "/.exit-0.json.false", "w") as file:
        json.dump({"version": 1, "run": "a", "ending": "succeeded", "detail": "", "exit_code": 0}, file)
    os.rename(run + "/.exit-0.json.false", run + "/exit-0.json")
def tell(path, line):
    talk = socket.socket(socket.AF_UNIX)
    talk.connect(path)
    talk.sendall(line.encode() + b"\\n")
    return talk
def listen_instead(path):
    os.rename(path, path + ".old")
    socket.socket(socket.AF_UNIX).bind(path)
def fill(path):
    with open(path, "wb") as file:
        file.write(bytes(1 << 20))
KILL = '{"version": 1, "id": 1, "do": "kill", "replicas": [0]}'
FALSE_END = '{"kind": "ended", "body": {"ending": "succeeded", "exit_code": 0}}'
answers = [json.loads(tell(own, line).recv(10000)) for line in (KILL, FALSE_END)]
results["answers"] = [answer.get("error") for answer in answers]
results["open"] = sorted(int(number) for number in os.listdir("/proc/self/fd"))[:-1]
attempt("lock", take_a_lock_of_ones_own)
attempt("record", write_a_record)
attempt("record through the first process", lambda: os.stat("/proc/1/root" + run))
attempt("record by going up", lambda: os.stat("/workspace/../../../.." + run))
attempt("journal", lambda: open(run + "/commands", "a").close())
attempt("supervisor is told to go", lambda: os.kill(pid, signal.SIGTERM))
attempt("supervisor is told to kill", lambda: tell(sockets + "/control.sock", KILL))
attempt("supervisor is not asked", lambda: listen_instead(sockets + "/control.sock"))
attempt("nobody hears", lambda: listen_instead(own))
attempt("beside the socket", lambda: fill(os.path.dirname(own) + "/filler"))
print(json.dumps(results))
sys.exit(3)
"""
ATTEMPTS = 10


def read_results(output: str) -> dict[str, object]:
    found = json.loads(output.splitlines()[-1])
    assert isinstance(found, dict)
    return found


async def test_a_workload_that_poses_as_its_supervisor_changes_nothing() -> None:
    async with local_place() as local:
        await local.engine.start([local.start("endless-b")])
        await local.reach("endless-b", RunPhase.RUNNING)
        other = local.supervisor("endless-b")
        places = (str(local.run_directory("endless-b")), str(local.directory / "sockets" / "endless-b-1"))
        own = (str(local.run_directory("a")), str(local.directory / "sockets" / "a-1"))
        for name, paths in (("a", own), ("c", places)):
            ended = await local.finish(local.sized(name, "python3", "-c", IMPOSTOR, *paths, str(other)))
            assert (ended.ending, ended.exit_code) == (Ending.FAILED, 3), await local.output(name)
            results = read_results(await local.output(name))
            assert results.pop("answers") == ["kind is one of report, checkpoint, done"] * 2
            assert results.pop("open") == [0, 1, 2]
            assert len(results) == ATTEMPTS
            assert {name: how for name, how in results.items() if how == "done"} == {}
        assert not await local.engine.messages({})
        assert local.supervisor("endless-b") == other
        assert (await everything(local.engine))["endless-b"].phase is RunPhase.RUNNING


@contextmanager
def decoy(directory: Path) -> Iterator[Path]:
    """What a supervisor has, for a program that nothing keeps from it."""
    place = directory / "decoy"
    place.mkdir()
    (place / "lock").touch()
    with socket.socket(socket.AF_UNIX) as control:
        control.bind(str(place / "control.sock"))
        control.listen()
        yield place


def sleeper() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sleep", "60"])


async def test_without_a_sandbox_the_same_program_succeeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "sandbox_problem", lambda: "none is wanted")
    async with local_place(trusted=True) as local:
        with decoy(local.directory) as place, sleeper() as victim:
            paths = (str(place), str(place), str(victim.pid))
            await local.finish(local.sized("a", "python3", "-c", IMPOSTOR, *paths))
            assert victim.wait() == -15
        results = read_results(await local.output("a"))
        refused = {name for name, how in results.items() if isinstance(how, str) and how != "done"}
        assert refused <= {"record through the first process", "record by going up"}
