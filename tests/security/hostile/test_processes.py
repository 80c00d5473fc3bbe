"""A workload looks for other processes, and tries to outlive its end."""

import os
import signal
import subprocess
import sys

from tests.engines.local.cage import Cage
from tests.security.hostile.attempts import outcomes, outcomes_outside, refused, succeeded

# Leaves its parent twice over, with a session of its own, and holds a lock for as long as it lives.
ESCAPE = """
import fcntl, os, signal, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
for number in range(1, 32):
    if number not in (9, 19):
        try:
            signal.signal(number, signal.SIG_IGN)
        except OSError:
            pass
if os.fork():
    time.sleep(1000)
os.setsid()
if os.fork():
    os._exit(0)
print("escaped", flush=True)
time.sleep(int(sys.argv[2]))
"""

WHO_HOLDS = """
        import fcntl
        def is_free(path, seconds=10):
            file = open(path)
            limit = time.monotonic() + seconds
            while time.monotonic() < limit:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return True
                except BlockingIOError:
                    time.sleep(0.01)
            return False
"""


def test_processes_outside_are_neither_seen_nor_signalled(cage: Cage) -> None:
    # With the workload's own uid: outside, nothing but the sandbox is between the two.
    identity = {"user": cage.uid, "group": cage.uid} if os.geteuid() == 0 else {}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as engine:
        with subprocess.Popen(["sleep", "60"], **identity) as victim:  # type: ignore[call-overload]
            program = f"""
for name, pid in (("victim", {victim.pid}), ("engine", {engine.pid})):
    attempt(name + " is seen", lambda: os.stat(f"/proc/{{pid}}"))
    attempt(name + " is signalled", lambda: os.kill(pid, 0))
results["seen"] = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())
"""
            seen = outcomes(cage, program)
            assert seen.pop("seen") == [1, 2]
            assert set(refused(seen).values()) == {"ENOENT", "ESRCH"}
            outside = outcomes_outside(cage, program)
            assert {"victim is seen", "victim is signalled"} <= succeeded(outside)
            victim.kill()
        assert engine.stdin is not None
        engine.stdin.close()
        engine.kill()


def test_replicas_of_one_attempt_do_not_see_each_others_processes(cage: Cage) -> None:
    printed = cage.drive("""
        first = box.start("sh", "-c", "echo ready; exec sleep 60").release()
        first.wait_for("ready")
        print(box.run("sh", "-c", "echo /proc/[0-9]*; kill -9 -1"))
        os.kill(first.replica.main, 9)
        print(first.end())
    """)
    assert printed.splitlines() == [
        "(1, '/proc/1 /proc/2\\nsh: 1: kill: No such process\\n\\n')",
        "(137, 'ready\\n')",
    ]


def test_nothing_survives_the_end_of_the_sandbox(cage: Cage) -> None:
    printed = cage.drive(
        WHO_HOLDS
        + """
        running = box.start(box.python, "-I", "-c", program, "/workspace/lock", "1000").release()
        running.wait_for("escaped")
        print(is_free(box.directory / "workspace" / "lock", 0.2))
        os.kill(running.replica.pid, 9)
        print(is_free(box.directory / "workspace" / "lock"))
        """,
        program=ESCAPE,
    )
    assert printed.split() == ["False", "True"]


def test_without_a_sandbox_the_same_program_survives(cage: Cage) -> None:
    printed = cage.drive(
        WHO_HOLDS
        + """
        import subprocess
        path = box.directory / "lock"
        running = subprocess.Popen([box.python, "-I", "-c", program, path, "3"], stdout=subprocess.PIPE)
        running.stdout.readline()
        running.kill()
        running.wait()
        print(is_free(path, 0.2))
        """,
        program=ESCAPE,
    )
    assert printed.split() == ["False"]


def test_nothing_survives_the_death_of_the_engine(cage: Cage) -> None:
    printed = cage.drive(
        WHO_HOLDS
        + """
        ours, theirs = os.pipe()
        engine = os.fork()
        if engine == 0:
            running = box.start(box.python, "-I", "-c", program, "/workspace/lock", "1000").release()
            running.wait_for("escaped")
            os.write(theirs, b"escaped")
            time.sleep(1000)
        os.read(ours, 100)
        os.kill(engine, 9)
        os.waitpid(engine, 0)
        print(is_free(box.directory / "workspace" / "lock"))
        """,
        program=ESCAPE,
    )
    assert printed.split() == ["True"]


def test_a_fork_bomb_ends_at_its_limit_and_with_its_sandbox(cage: Cage, limited_group: str) -> None:
    bomb = """
import os, time
count = 0
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
        count += 1
except BlockingIOError:
    print("limit after", count, flush=True)
time.sleep(1000)
"""
    printed = cage.drive(
        """
        running = box.start(box.python, "-I", "-c", bomb, cgroups=[group + "/cgroup.procs"]).release()
        print(running.wait_for("limit after").strip())
        try:
            box.visit(running, "true", cgroups=[group + "/cgroup.procs"]).finish()
            print("entered")
        except exec_session.ExecRefused as refused:
            print(refused)
        os.kill(running.replica.pid, 9)
        running.end()
        limit = time.monotonic() + 10
        while open(group + "/cgroup.procs").read() and time.monotonic() < limit:
            time.sleep(0.01)
        print(repr(open(group + "/cgroup.procs").read()))
        """,
        bomb=bomb,
        group=limited_group,
    )
    reached, visit, left = printed.splitlines()
    assert int(reached.split()[-1]) < 50
    assert visit == "cannot fork: Resource temporarily unavailable"
    assert left == "''"


# Reads what it can of every process that comes by.
SPY = """
import os
print("looking", flush=True)
while not os.path.exists("/workspace/stop"):
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if b"of the engine" in file.read():
                    print("FOUND", flush=True)
        except OSError:
            pass
"""


def found_by_spy(cage: Cage, protection: str) -> bool:
    printed = cage.drive(
        protection
        + """
        running = box.start(box.python, "-I", "-c", spy).release()
        running.wait_for("looking")
        for turn in range(100):
            box.run_visit(running, "true")
            if "FOUND" in running.text:
                break
        (box.directory / "workspace" / "stop").touch()
        print("FOUND" in running.end()[1])
        """,
        spy=SPY,
        secret="of the engine",
    )
    return printed.strip() == "True"


def test_a_visitor_on_its_way_in_shows_nothing_of_the_engine(cage: Cage) -> None:
    """What joins the sandbox is for a moment the engine's own process, with the workload's uid."""
    assert not found_by_spy(cage, "")


def test_a_visitor_that_does_not_hide_is_read(cage_of_user: Cage) -> None:
    """As root the kernel hides it, because its uid changes."""
    assert found_by_spy(cage_of_user, "\n        syscalls.hide_from_others = lambda: None")


def test_signals_reach_nobody_outside(cage: Cage) -> None:
    printed = cage.drive("""
        import signal
        told = []
        signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
        code, _ = box.run("sh", "-c", "kill -USR1 1; kill -USR1 -1; kill -USR1 0; exit 3")
        print(code, told)
    """)
    assert printed.strip() == f"{128 + signal.SIGUSR1} []"
