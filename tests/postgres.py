"""A PostgreSQL server for one test run: made in a temporary folder, removed with the run.

The first test process that needs it starts `python -m tests.postgres`, a supervisor that outlives that
process but not the run: it watches the run's first process and stops the server when that one ends,
however it ends. All processes of the run share the server.
"""

import asyncio
import contextlib
import json
import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import asyncpg

from tests.runs import TestRun, fast_folder

START_SECONDS = 60
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "48MB",
    "max_connections": "200",
    "max_wal_size": "2GB",
    # Not UTC on purpose: code that depends on the server's zone shows itself.
    "timezone": "Asia/Taipei",
}


# Kept, because a process object that goes away while its process runs is a warning, hence an error.
_supervisors: list["subprocess.Popen[bytes]"] = []


class PostgresNotFoundError(Exception):
    """PostgreSQL is needed, and the tests fail rather than leave half of their promise out."""


@dataclass(frozen=True)
class Server:
    port: int
    socket_directory: str
    user: str
    version: int

    def url(self, database: str) -> str:
        return f"postgresql+asyncpg://{self.user}@127.0.0.1:{self.port}/{database}"

    def execute(self, *statements: str) -> None:
        """Runs statements one by one, outside a transaction, as CREATE DATABASE needs."""
        # A thread of its own, because the caller may be inside a running event loop.
        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, self._execute(statements)).result()

    async def _execute(self, statements: tuple[str, ...]) -> None:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=self.port, user=self.user, database="postgres"
        )
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()


def shared_server(run: TestRun) -> Server:
    """The run's server, started if this is the first process to ask."""
    with run.lock("postgresql"):
        facts = run.folder / "postgresql.json"
        if not facts.exists():
            _start_supervisor(run, facts)
        return Server(**json.loads(facts.read_text()))


def _start_supervisor(run: TestRun, facts: Path) -> None:
    binaries()  # here, so that the message reaches the test
    log = run.folder / "postgresql.log"
    with log.open("w") as written:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "tests.postgres", str(run.folder), str(run.pid)],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _supervisors.append(supervisor)
    deadline = time.monotonic() + START_SECONDS
    while not facts.exists():
        if supervisor.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text()}")
        time.sleep(0.02)


def binaries() -> Path:
    """The folder of the newest PostgreSQL on this machine."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[4]), reverse=True
    )
    if found:
        return found[0].parent
    if on_path := shutil.which("postgres"):
        return Path(on_path).resolve().parent
    raise PostgresNotFoundError(
        "The tests need PostgreSQL, and it is not on this machine: apt-get install postgresql"
    )


def _unprivileged_user() -> str | None:
    """PostgreSQL refuses to run as root; then it runs as this user."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise PostgresNotFoundError("PostgreSQL refuses to run as root, and there is no user postgres or nobody")


class _Cluster:
    """The supervisor's side: one server process and its folder."""

    def __init__(self) -> None:
        # Short, because the path of a unix socket may have 107 characters only.
        self.folder = Path(tempfile.mkdtemp(prefix="corral-pg-", dir=fast_folder()))
        self.data = self.folder / "data"
        self.user = _unprivileged_user()
        self.process: subprocess.Popen[bytes] | None = None
        if self.user:
            account = pwd.getpwnam(self.user)
            os.chown(self.folder, account.pw_uid, account.pw_gid)

    def start(self) -> Server:
        self._call(
            "initdb", "--no-sync", "--auth=trust", "--username=corral", "--encoding=UTF8", "--locale=C.UTF-8"
        )
        for attempt in range(3):
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            settings = SETTINGS | {"port": str(port), "unix_socket_directories": str(self.folder)}
            options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
            self.process = self._popen("postgres", *options)
            if self._wait_until_ready():
                version = int((self.data / "PG_VERSION").read_text())
                return Server(port, str(self.folder), "corral", version)
            print(f"attempt {attempt + 1} on port {port} failed", flush=True)
        raise RuntimeError("PostgreSQL did not start in three attempts")

    def _wait_until_ready(self) -> bool:
        assert self.process is not None
        status = self.data / "postmaster.pid"
        while self.process.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                lines = status.read_text().splitlines()
                if len(lines) >= 8 and lines[7].strip() == "ready":
                    return True
            time.sleep(0.02)
        return False

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)  # fast shutdown: does not wait for clients
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGQUIT)
                self.process.wait(15)
        shutil.rmtree(self.folder)

    def _popen(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [str(binaries() / program), "-D", str(self.data), *arguments],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            user=self.user,
            group=pwd.getpwnam(self.user).pw_gid if self.user else None,
            extra_groups=[] if self.user else None,
        )

    def _call(self, program: str, *arguments: str) -> None:
        if (code := self._popen(program, *arguments).wait()) != 0:
            raise RuntimeError(f"{program} ended with {code}")


def _supervise(folder: Path, watched_pid: int) -> None:
    watched = os.pidfd_open(watched_pid)
    stopped, wake = os.pipe()
    signal.signal(signal.SIGTERM, lambda *_: os.write(wake, b"."))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    (folder / "postgresql.pid").write_text(str(os.getpid()))
    cluster = _Cluster()
    try:
        server = cluster.start()
        written = folder / "postgresql.json.new"
        written.write_text(json.dumps(asdict(server)))
        written.rename(folder / "postgresql.json")
        select.select([watched, stopped], [], [])
    finally:
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)  # the run may have removed it already


if __name__ == "__main__":
    _supervise(Path(sys.argv[1]), int(sys.argv[2]))
