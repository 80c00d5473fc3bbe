"""What work on this machine costs through all of Corral: `uv run python -m benchmarks.local`.

A real `corral up`, asked over HTTP. From submission to running, for one workload at a time and for many at
once; CPU seconds for each of many short ones, beside `xargs -P` with the same bubblewrap arguments and beside
bare processes in the same run; and the CPU of all of Corral's processes while nothing happens, with none,
some and many workloads running. CPU is counted by control groups, so this runs as root.
"""

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.report import parser, show
from corral.engines.local.sandbox.bubblewrap import Mode, Sandbox, base_environment, look_at_host
from tests.live import LiveCorral, running_corral

GPUS = "8xH100-80GB"
SHORT = ("python3", "-c", "pass")
LONG = ("sleep", "100000")
NOBODY = 65534
LIVE = {"queued", "starting", "running", "suspending", "suspended", "stopping"}


def main() -> None:
    arguments = parser("local", "Latency and CPU of work on this machine, beside doing without Corral.")
    arguments.add_argument("--many", type=int, default=500, help="short workloads at once (default: 500)")
    arguments.add_argument("--single", type=int, default=20, help="one after the other (default: 20)")
    arguments.add_argument(
        "--running", default="0,50,200", help="how many run in the quiet (default: 0,50,200)"
    )
    arguments.add_argument("--quiet", type=float, default=120, help="seconds of quiet (default: 120)")
    arguments.add_argument("--parallel", type=int, default=4, help="of xargs -P (default: 4)")
    given = arguments.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="corral-local-") as name, group() as cpu:
        folder = Path(name)
        with corral_in(folder, cpu) as corral:
            desk = Desk(corral)
            rows.append(singles(desk, given.single))
            rows.append(many(desk, cpu, given.many))
            rows += [quiet(desk, cpu, int(count), given.quiet) for count in given.running.split(",")]
            desk.stop_all()
        rows += baselines(folder, cpu, given.many, given.parallel)
    show("local", rows, given.json)


class Desk:
    """Submits and watches over HTTP, with as little work of its own as it can."""

    def __init__(self, corral: LiveCorral) -> None:
        self._corral = corral
        self.ids: list[str] = []

    def call(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self._corral.local_token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._corral.url}/api/v1{path}", data, headers, method=method)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def submit(self, command: Sequence[str]) -> str:
        # So little that all of them run at once.
        resources = {"cpu_milli": 1, "memory_mib": 16}
        document = {"name": "bench", "command": list(command), "resources": resources, "network": False}
        self.ids.append(self.call("POST", "/training", document)["id"])
        return self.ids[-1]

    def wait(self, state: str | None, seconds: float = 600) -> None:
        """Until all live work is in this state; without one, until none is live.

        Asks for the numbers alone: what looking on costs is counted as Corral's, too.
        """
        deadline = time.monotonic() + seconds
        while True:
            counts = self.call("GET", "/workloads/summary")["states"]
            if not sum(count for name, count in counts.items() if name in LIVE and name != state):
                return
            assert time.monotonic() < deadline, f"after {seconds} s: {counts}"
            time.sleep(0.25)

    def items(self) -> Iterator[dict[str, Any]]:
        cursor = ""
        while cursor is not None:
            page = self.call("GET", f"/workloads?limit=200{cursor and f'&cursor={cursor}'}")
            yield from page["items"]
            cursor = page["next_cursor"]

    def latency(self, workload_id: str) -> float:
        """Seconds from submission until its processes began."""
        seen = self.call("GET", f"/workloads/{workload_id}")
        began = seen["attempts"][0]["replicas"][0]["started_at"]
        return (datetime.fromisoformat(began) - datetime.fromisoformat(seen["created_at"])).total_seconds()

    def stop_all(self) -> None:
        ids = [one["id"] for one in self.items() if one["state"] in LIVE]
        for start in range(0, len(ids), 2000):
            self.call("POST", "/workloads/actions", {"action": "stop", "ids": ids[start : start + 2000]})
        self.wait(None)


def singles(desk: Desk, count: int) -> dict[str, Any]:
    found = []
    for _ in range(count):
        one = desk.submit(SHORT)
        desk.wait(None)
        found.append(desk.latency(one))
    return row("one at a time", count, latencies=found)


def many(desk: Desk, cpu: "Cpu", count: int) -> dict[str, Any]:
    before = cpu.seconds("corral")
    ids = [desk.submit(SHORT) for _ in range(count)]
    desk.wait(None)
    spent = cpu.seconds("corral") - before
    return row("many at once, through Corral", count, latencies=[desk.latency(one) for one in ids], cpu=spent)


def quiet(desk: Desk, cpu: "Cpu", running: int, seconds: float) -> dict[str, Any]:
    """The work itself sleeps: what is used is Corral's."""
    for _ in range(running):
        desk.submit(LONG)
    desk.wait("running")
    time.sleep(2)
    before = cpu.seconds("corral")
    time.sleep(seconds)
    spent = cpu.seconds("corral") - before
    desk.stop_all()
    made = row(f"quiet, {running} running", running, cpu=None)
    return made | {"CPU ms per s": round(spent / seconds * 1000, 2)}


def baselines(folder: Path, cpu: "Cpu", count: int, parallel: int) -> list[dict[str, Any]]:
    workspace, shm = folder / "bench-workspace", folder / "bench-shm"
    for place in (workspace, shm):
        place.mkdir()
        os.chown(place, NOBODY, NOBODY)
    host = look_at_host()
    sandbox = Sandbox(Mode.ROOT, NOBODY, NOBODY, "bench", SHORT, str(workspace), str(shm))
    command = plain_sandbox(host, sandbox)
    environment = base_environment(sandbox)
    rows = []
    for name, each in (("xargs -P, same sandbox", command), ("xargs -P, bare", SHORT)):
        words = ["xargs", "-P", str(parallel), "-I{}", *each]
        cpu.place("others")
        before = cpu.seconds("others")
        cpu.run("others", words, "\n".join(map(str, range(count))).encode(), environment)
        rows.append(row(name, count, cpu=cpu.seconds("others") - before))
    return rows


def plain_sandbox(host: Any, sandbox: Sandbox) -> tuple[str, ...]:
    """Bubblewrap with the mounts and namespaces of the engine, as somebody would call it by hand."""
    directories = dict.fromkeys(("/usr", *host.directories))
    binds = [word for path in directories for word in ("--ro-bind", path, path)]
    links = [word for path, target in host.links for word in ("--symlink", target, path)]
    return (
        host.bwrap,
        *binds,
        *links,
        *("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", sandbox.workspace, "/workspace"),
        *("--chdir", "/workspace", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net"),
        *("--die-with-parent", "--cap-drop", "ALL"),
        *("--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"),
        *(host.setpriv, "--reuid", str(sandbox.uid), "--regid", str(sandbox.gid), "--clear-groups"),
        *("--bounding-set", "-all", "--no-new-privs", *sandbox.command),
    )


def row(what: str, count: int, latencies: Sequence[float] = (), cpu: float | None = None) -> dict[str, Any]:
    ordered = sorted(latencies)
    return {
        "what": what,
        "workloads": count,
        "p50 s": round(statistics.median(ordered), 3) if ordered else None,
        "p99 s": round(ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)], 3) if ordered else None,
        "CPU ms each": None if cpu is None else round(cpu / count * 1000, 1),
        "CPU ms per s": None,
    }


class Cpu:
    """CPU seconds of everything that was started in a named part, ended or not."""

    def __init__(self) -> None:
        version_1 = Path("/sys/fs/cgroup/cpuacct")
        self._is_1 = version_1.is_dir()
        self._root = (version_1 if self._is_1 else Path("/sys/fs/cgroup")) / f"corral-local-{os.getpid()}"
        self._root.mkdir()

    def place(self, part: str) -> Path:
        group = self._root / part
        group.mkdir(exist_ok=True)
        return group / "cgroup.procs"

    def seconds(self, part: str) -> float:
        group = self._root / part
        if self._is_1:
            return int((group / "cpuacct.usage").read_text()) / 1e9
        lines = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
        return int(lines["usage_usec"]) / 1e6

    def run(self, part: str, command: Sequence[str], given: bytes, environment: dict[str, str]) -> None:
        inside = ["sh", "-c", 'echo 0 > "$0" && exec "$@"', str(self.place(part)), *command]
        done = subprocess.run(inside, input=given, env=environment, check=False, stdout=subprocess.DEVNULL)
        if done.returncode:
            sys.exit(f"{command[:4]} … ended with {done.returncode}")

    def close(self) -> None:
        for group in sorted(self._root.rglob("*/"), key=lambda path: -len(path.parts)):
            with contextlib.suppress(OSError):
                group.rmdir()
        with contextlib.suppress(OSError):
            self._root.rmdir()


@contextlib.contextmanager
def group() -> Iterator[Cpu]:
    if os.geteuid() != 0:
        sys.exit("Run it as root: CPU is counted by control groups.")
    cpu = Cpu()
    try:
        yield cpu
    finally:
        cpu.close()


@contextlib.contextmanager
def corral_in(folder: Path, cpu: Cpu) -> Iterator[LiveCorral]:
    """A Corral whose processes, and whose work's, count as its part."""
    own = cpu.place("corral")
    program = folder / "corral-in-group"
    real = Path(sys.executable).parent / "corral"
    program.write_text(f'#!/bin/sh\necho 0 > "{own}"\nexec "{real}" "$@"\n')
    program.chmod(0o755)
    with running_corral(folder, program=program, environment={"CORRAL_SIMULATED_GPUS": GPUS}) as corral:
        yield corral


if __name__ == "__main__":
    main()
