"""`corral up` without its imports: a process that has the application loaded forks one for each test.

Of the five CPU seconds of a start, four are imports and migrations, the same every time. The first process of
a run that starts a Corral starts `python -m tests.warm_start`, which imports the application, migrates a
database to copy, and listens. Each connection is served by a fork of its own, and each start is a fork of
that: it runs the command, the parent and the api process as `corral up` does, in processes of their own, with
their own arguments, descriptors, sessions and signals. Only `exec` is left out. When a test process ends, so
do the Corrals that it started.

What `exec` itself brings is tested where `running_corral(…, warm=False)` stands: the command's own tests, the
storm, the wheel.
"""

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from tests.runs import TestRun

START_SECONDS = 90
MIGRATED = "warm.db"
_SOCKET = "warm.sock"
_MOST_BYTES = 128 * 1024
_PR_SET_PDEATHSIG = 1
# Room for the arguments of a process that was forked and not executed.
_PADDING = "." * 1000

Job = Callable[[], int]


class WarmProcess:
    """What `subprocess.Popen` says of a process: this one is a child of the process that forked it."""

    def __init__(self, pid: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._status = status

    def poll(self) -> int | None:
        return self._read_status(0)

    def wait(self, timeout: float | None = None) -> int:
        if (code := self._read_status(timeout)) is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("corral up", timeout)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def _read_status(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            # Nothing: whoever waits for it was killed, and it is killed with it.
            self.returncode = int(os.read(self._status, 16) or -signal.SIGKILL)
            os.close(self._status)
        return self.returncode


_connections: dict[Path, socket.socket] = {}
_starters: list["subprocess.Popen[bytes]"] = []  # one that is collected while it runs is a warning


def start(
    run: TestRun, command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], log: int
) -> WarmProcess:
    """Starts `corral` with these arguments, output to the descriptor `log`, in a session of its own."""
    connection = _connections.get(run.folder)
    if connection is None:
        connection = _connections[run.folder] = _connect(run)
    status, told = os.pipe()
    try:
        request = {"command": list(command), "cwd": str(cwd), "environment": dict(environment)}
        socket.send_fds(connection, [json.dumps(request).encode()], [log, told])
    finally:
        os.close(told)
    return WarmProcess(int(connection.recv(32)), status)


def migrated_file(run: TestRun) -> Path:
    """A migrated SQLite file to copy."""
    _listening(run)
    return run.folder / MIGRATED


def _connect(run: TestRun) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    connection.connect(str(_listening(run)))
    return connection


def _listening(run: TestRun) -> Path:
    """The address of the run's starter, which is started if this is the first process to ask."""
    address = run.folder / _SOCKET
    with run.lock("warm"):
        if not address.exists():
            _start_starter(run, address)
    return address


def _start_starter(run: TestRun, address: Path) -> None:
    log = run.folder / "warm.log"
    with log.open("w") as written:
        starter = subprocess.Popen(
            [sys.executable, "-m", "tests.warm_start", str(run.folder), str(run.pid), _PADDING],
            cwd=Path(__file__).parent.parent,
            # A library that starts threads when it is loaded would not survive a fork.
            env={name: value for name, value in os.environ.items() if not name.startswith("CORRAL_")}
            | {"OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _starters.append(starter)
    deadline = time.monotonic() + START_SECONDS
    while not address.exists():
        if starter.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"The starter of warm Corrals did not start:\n{log.read_text()}")
        time.sleep(0.02)


# What follows runs in the starter and in its forks.


def _listen(run: TestRun) -> Job | None:
    """Forks a server for each connection; returns what a fork is to do, nothing at the end of the run."""
    waiting = run.folder / f"{_SOCKET}.new"
    ended = os.pidfd_open(run.pid)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # its servers: nobody asks how they ended
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(waiting))
        listener.listen()
        waiting.rename(run.folder / _SOCKET)
        while listener in select.select([listener, ended], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                os.close(ended)
                with connection:
                    return _serve(connection)
            connection.close()
    return None


def _serve(connection: socket.socket) -> Job | None:
    """Forks what one test process asks for, and tells it how each ended."""
    told: dict[int, int] = {}
    with _wakeup() as woken:
        while True:
            ready = select.select([connection, woken], [], [])[0]
            if woken in ready:
                woken.recv(4096)
                _reap(told)
            if connection not in ready:
                continue
            content, (log, status), _, _ = socket.recv_fds(connection, _MOST_BYTES, 2)
            if not content:
                return None  # the test process is gone
            request = json.loads(content)
            if (pid := os.fork()) == 0:
                return lambda: _command(request, log)
            told[pid] = status
            os.close(log)
            connection.send(str(pid).encode())


def _reap(told: dict[int, int]) -> None:
    for pid in list(told):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            descriptor = told.pop(pid)
            with contextlib.suppress(BrokenPipeError):
                os.write(descriptor, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(descriptor)


@contextmanager
def _wakeup() -> Iterator[socket.socket]:
    """Readable when a child ended."""
    reader, writer = socket.socketpair()
    reader.setblocking(False)
    writer.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno())
    yield reader


def _command(request: dict[str, object], log: int) -> int:
    """`corral up`: the command, and then its parent process."""
    server = os.getppid()
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != server:
        return 1
    for number in (1, 2):
        os.dup2(log, number)
    command = [str(word) for word in _list(request["command"])]
    _begin(command, keep=())
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(_mapping(request["environment"]))
    time.tzset()

    from corral.cli import main
    from corral.server import parent

    def execv(_: str, words: list[str]) -> NoReturn:
        _show(words)
        sys.exit(parent.main(words[4:]))

    os.execv = execv
    parent.subprocess = _Forking()  # type: ignore[assignment]
    main.run()
    return 0


class _Forking:
    """Stands for `subprocess` in the parent process: its children are forks."""

    DEVNULL = subprocess.DEVNULL
    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def Popen(  # noqa: N802 - its name
        command: list[str], *, stdin: int, pass_fds: tuple[int, ...], process_group: int
    ) -> "_Child":
        assert (stdin, process_group) == (subprocess.DEVNULL, 0)
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            _end_with(lambda: _child(command, pass_fds))
        return _Child(pid)


class _Child:
    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        code = self._wait(0)
        assert code is not None
        return code

    def terminate(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode


def _child(command: list[str], keep: tuple[int, ...]) -> int:
    """The api process, or the gateway."""
    os.setpgid(0, 0)
    _begin(command, keep)
    sys.argv = ["child", *command[4:]]

    importlib.import_module(command[3]).main()
    return 0


def _begin(command: list[str], keep: tuple[int, ...]) -> None:
    """As after `exec`: signals at their defaults, no descriptor that was not passed, its own arguments."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for one in [int(path.name) for path in Path("/proc/self/fd").iterdir()]:
        if one > 2 and one not in keep:
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(one)
    sys.argv = command
    _show(command)


def _show(command: list[str]) -> None:
    """Puts the arguments where `ps`, Corral and the tests look for those of a process."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    content = b"".join(word.encode() + b"\0" for word in command)[: end - start]
    ctypes.memmove(start, content.ljust(end - start, b"\0"), end - start)


def _end_with(job: Job) -> NoReturn:
    """Ends this fork with the job; nothing of whom it was forked from is unwound."""
    code = 1
    try:
        code = job()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
    except BaseException:  # noqa: BLE001 - as an interpreter does at its end
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _list(value: object) -> list[object]:
    assert isinstance(value, list)
    return value


def _mapping(value: object) -> dict[str, str]:
    assert isinstance(value, dict)
    return value


def _load(run: TestRun) -> None:
    """All that a Corral imports when it starts, and a migrated database."""
    import uvicorn.lifespan.on
    import uvicorn.protocols.http.httptools_impl
    import uvicorn.protocols.websockets.websockets_sansio_impl  # noqa: F401

    import corral.cli.main
    import corral.cli.up
    import corral.server.child
    import corral.server.parent  # noqa: F401
    from corral.server.app import describe_only
    from corral.store.migrate import upgrade

    describe_only()  # keeps the routes
    upgrade(f"sqlite:///{run.folder / MIGRATED}")
    gc.collect()
    gc.freeze()


def _main(folder: str, pid: str) -> None:
    run = TestRun(Path(folder), int(pid))
    _load(run)
    if job := _listen(run):
        _end_with(job)


if __name__ == "__main__":
    _main(*sys.argv[1:3])
