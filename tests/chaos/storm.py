"""A storm over a real Corral: work of many kinds, while its processes are killed at random moments.

Everything random comes from one seed, which is printed. What is asserted afterwards: all work is over, each
replica of each attempt began once, and the invariants hold.
"""

import contextlib
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.live import LiveCorral, supervisors

ATTACKS = ("nested", "many", "deleted")
STRAYS = ("run", "gone", "workspaces", "homes")
OVER = {"succeeded", "failed", "stopped"}
# It notes that it began, in a file of its workspace that outlives attempts, works a moment, and ends.
PROGRAM = """
import os, sys, time
mark = os.environ["CORRAL_ATTEMPT"] + "-" + os.environ["CORRAL_REPLICA"]
handle = os.open("began", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(handle, (mark + "\\n").encode())
if sys.argv[3] == "nested":
    for _ in range(3000):
        os.path.exists("d") or os.mkdir("d")
        os.chdir("d")
elif sys.argv[3] == "many":
    for number in range(int(sys.argv[4])):
        os.close(os.open(f"empty-{number}", os.O_CREAT))
elif sys.argv[3] == "deleted":
    handle = os.open("large", os.O_CREAT | os.O_RDWR)
    os.unlink("large")
    os.write(handle, bytes(8 * 2**20))
time.sleep(float(sys.argv[1]))
print("worked", mark, flush=True)
sys.exit(int(sys.argv[2]))
"""


@dataclass
class Storm:
    corral: LiveCorral
    seed: int
    chance: random.Random = field(init=False)
    submitted: dict[str, str] = field(default_factory=dict)
    kills: Counter[str] = field(default_factory=Counter)
    many_files: int = 5_000

    def __post_init__(self) -> None:
        print(f"storm seed {self.seed}")
        self.chance = random.Random(self.seed)

    # Work

    def submit(self, number: int) -> None:
        usual = ["short", "short", "slice", "gang", "fails", "retried", "long"]
        kind = ATTACKS[number // 6 % len(ATTACKS)] if number % 6 == 3 else self.chance.choice(usual)
        seconds = {"long": 3.0}.get(kind, round(self.chance.uniform(0.1, 1.5), 2))
        code = 3 if kind in {"fails", "retried"} else 0
        gpu: dict[str, Any] | None = {"slice": {"memory_mib": 4096}, "gang": {"count": 1}}.get(kind)
        document = {
            "name": f"{kind}-{number}",
            "command": ["python3", "-c", PROGRAM, str(seconds), str(code), kind, str(self.many_files)],
            "resources": {"cpu_milli": 50, "memory_mib": 64, "gpu": gpu},
            "replicas": 2 if kind == "gang" else 1,
            "retries": 1 if kind == "retried" else 0,
            "grace_seconds": 1,
        }
        answer = self.call("POST", "/training", document, key=f"storm-{self.seed}-{number}")
        self.submitted[answer["id"]] = kind

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        """Asks until it is answered: the server may be dead at the moment."""
        deadline = time.monotonic() + 120
        while True:
            try:
                return self._call(method, path, body, key)
            except (OSError, urllib.error.URLError, json.JSONDecodeError):
                if time.monotonic() > deadline:
                    raise
                self.raise_the_dead()
                time.sleep(0.1)

    def _call(self, method: str, path: str, body: Any, key: str | None) -> Any:
        headers = {"Authorization": f"Bearer {self.corral.local_token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        data = None if body is None else json.dumps(body).encode()
        url = f"http://127.0.0.1:{self.corral.port}/api/v1{path}"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            # 401: Corral was started anew in this moment, with another local token.
            if error.code >= 500 or error.code == 401:
                raise OSError(error.code) from error
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    # Death

    def kill_something(self) -> None:
        while not self._kill_one():
            self.raise_the_dead()

    def _kill_one(self) -> bool:
        """False if there was nothing, or it ended by itself in this moment."""
        found = list(self._processes())
        if not found:
            return False
        kinds = sorted({kind for kind, _ in found})
        kind = self.chance.choice(kinds)
        pid = self.chance.choice(sorted(pid for each, pid in found if each == kind))
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.kills[kind] += 1
        return True

    def hold_the_write_lock(self, seconds: float) -> None:
        """As a backup or a curious administrator might: nobody else can write meanwhile."""
        held = sqlite3.connect(self.corral.home / "corral.db", timeout=60, isolation_level=None)
        try:
            held.execute("BEGIN IMMEDIATE")
            time.sleep(seconds)
            held.execute("ROLLBACK")
        finally:
            held.close()
        self.kills["write lock held"] += 1

    def lay_strays(self) -> None:
        """What an administrator, a backup or a bad disk may leave among our directories."""
        for place in STRAYS:
            directory = self.corral.home / "work" / place
            directory.mkdir(parents=True, exist_ok=True)
            (directory / "stray-file").write_text("{")
            (directory / "stray-link").symlink_to("/nowhere")
            (directory / "stray-directory").mkdir()
            (directory / "stray-directory" / "spec.json").write_text('{"version": 1')

    def stop_a_supervisor(self) -> int | None:
        """It does not end, and does not answer; `resume` lets it go on."""
        for pid in supervisors(self.corral.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
                self.kills["supervisor stopped"] += 1
                return pid
        return None

    def resume(self, pid: int | None) -> None:
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def discard_attacks(self, seconds: float) -> None:
        """What they left is removed, however it looks."""
        chosen = [one for one, kind in self.submitted.items() if kind in ATTACKS]
        for workload_id in chosen:
            self.call("POST", f"/workloads/{workload_id}/delete")
        workspaces = self.corral.home / "work" / "workspaces"
        deadline = time.monotonic() + seconds
        while left := [one for one in chosen if (workspaces / one).exists()]:
            if time.monotonic() > deadline:
                raise AssertionError(f"still there after {seconds} s: {left}\n{self.corral.log_tail()}")
            time.sleep(0.2)

    def raise_the_dead(self) -> None:
        """As a person or a service manager would: a parent that is gone is started again."""
        if self.corral.process.poll() is not None:
            (self.corral.home / "endpoints.json").unlink(missing_ok=True)
            self.corral.start_again()

    def _processes(self) -> Iterator[tuple[str, int]]:
        """Corral's own processes, by what they are. What work runs is not among them."""
        if self.corral.process.poll() is None:
            yield "parent", self.corral.process.pid
        for pid in supervisors(self.corral.home):
            yield "supervisor", pid
        yield from below(self.corral.process.pid)

    # Afterwards

    def wait_until_over(self, seconds: float) -> dict[str, str]:
        deadline = time.monotonic() + seconds
        states: dict[str, str] = {}
        while time.monotonic() < deadline:
            self.raise_the_dead()
            for workload_id in self.submitted:
                if states.get(workload_id) not in OVER:
                    states[workload_id] = self.call("GET", f"/workloads/{workload_id}")["state"]
            if set(states.values()) <= OVER:
                return states
            time.sleep(0.5)
        left = Counter(state for state in states.values() if state not in OVER)
        raise AssertionError(f"not over after {seconds} s: {dict(left)}\n{self.corral.log_tail()}")

    def began_twice(self) -> list[str]:
        twice = []
        for workload_id in self.submitted:
            began = self.corral.home / "work" / "workspaces" / workload_id / "began"
            counts = Counter(began.read_text().split()) if began.exists() else Counter()
            twice += [f"{workload_id}-{mark}" for mark, count in counts.items() if count > 1]
        return twice


def assert_invariants_hold(home: Path) -> None:
    command = [Path(sys.executable).parent / "corral", "doctor", "--invariants", "--home", home]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


_PROCESS = re.compile(r"(server\.child|planner_child|forkserver)")


def below(parent: int) -> Iterator[tuple[str, int]]:
    """Children of the parent, and theirs, by the module they run."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            command = (stat.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if int(fields[1]) == parent and (found := _PROCESS.search(command)):
            pid = int(stat.parent.name)
            yield found[1], pid
            yield from below(pid)
