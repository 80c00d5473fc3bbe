"""What `corral up` costs to start and to keep: `uv run python -m benchmarks.startup`.

CPU seconds of all its processes from the start until it is ready, and their memory (PSS: pages shared between
processes count once) after a while of idleness; beside them the same for empty Python processes that import
the same modules, one for each process of Corral.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

from benchmarks.report import parser, show
from tests.live import running_corral

# The modules that Corral's processes are started with, and what uvicorn and SQLAlchemy load by name in them.
MODULES = (
    ("corral.server.parent",),
    (
        "corral.server.child",
        "uvicorn.lifespan.on",
        "uvicorn.loops.uvloop",
        "uvicorn.protocols.http.httptools_impl",
        "sqlalchemy.dialects.sqlite.pysqlite",
    ),
)
_IMPORT = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print("ready", flush=True)
sys.stdin.read()
"""


def main() -> None:
    arguments = parser("startup", "CPU and memory of corral up, beside those of its imports alone.")
    arguments.add_argument(
        "--idle", type=float, default=60, help="seconds until memory is read (default: 60)"
    )
    arguments.add_argument("--rounds", type=int, default=3, help="the best of how many starts (default: 3)")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="corral-startup-") as name:
        folder = Path(name)
        firsts = [_start(folder / f"first-{turn}") for turn in range(given.rounds)]
        again = [_start(folder / "first-0") for _ in range(given.rounds)]
        idle = _start(folder / "first-0", idle=given.idle)
        imports = [_import() for _ in range(given.rounds)]
    memory = idle["PSS MiB"]
    rows = [
        _best("corral up, first start", firsts, None),
        _best("corral up, later starts", [*again, idle], memory),
        _best("importing the same modules", imports, min(one["PSS MiB"] for one in imports)),
    ]
    show("startup", rows, given.json)
    print(f"\nMemory of corral up after {given.idle:g} s without requests; starts: best of {given.rounds}.")


def _best(name: str, runs: Sequence[dict[str, Any]], pss_mib: float | None) -> dict[str, Any]:
    return {
        "what": name,
        "processes": runs[0]["processes"],
        "CPU s": min(run["CPU s"] for run in runs),
        "wall s": min(run["wall s"] for run in runs),
        "PSS MiB": pss_mib,
    }


def _start(folder: Path, *, idle: float | None = None) -> dict[str, Any]:
    """Starts and stops `corral up` once on the data directory in `folder`."""
    folder.mkdir(exist_ok=True)
    # The file of the run before would look like readiness.
    (folder / "home" / "endpoints.json").unlink(missing_ok=True)
    started = time.perf_counter()
    with running_corral(folder) as corral:
        wall = time.perf_counter() - started
        processes = _family(corral.process.pid)
        result = {"processes": len(processes), "CPU s": _cpu(processes), "wall s": round(wall, 2)}
        if idle is not None:
            time.sleep(idle)
            result["PSS MiB"] = _pss_mib(processes)
        return result


def _import() -> dict[str, Any]:
    """The same modules in as many empty processes."""
    started = time.perf_counter()
    with ExitStack() as stack:
        processes = [stack.enter_context(_importing(names)) for names in MODULES]
        wall = time.perf_counter() - started
        family = [psutil.Process(process.pid) for process in processes]
        return {
            "processes": len(family),
            "CPU s": _cpu(family),
            "wall s": round(wall, 2),
            "PSS MiB": _pss_mib(family),
        }


@contextmanager
def _importing(names: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _IMPORT, *names],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"not all of {names} can be imported")
        yield process
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def _family(pid: int) -> list[psutil.Process]:
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def _cpu(processes: Sequence[psutil.Process]) -> float:
    """With that of children which have ended meanwhile."""
    times = [process.cpu_times() for process in processes]
    return round(sum(t.user + t.system + t.children_user + t.children_system for t in times), 2)


def _pss_mib(processes: Sequence[psutil.Process]) -> float:
    return round(sum(process.memory_full_info().pss for process in processes) / 2**20, 1)


if __name__ == "__main__":
    main()
