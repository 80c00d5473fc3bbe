"""A local engine with real processes for the behaviour suite and for tests of its own."""

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from corral.core.devices import DeviceUse
from corral.engines.archives.limits import Archive, Form
from corral.engines.contents import Content, ContentMissing
from corral.engines.interface import Run, RunPhase, Start
from corral.engines.local.engine import LocalEngine
from corral.engines.local.records import locks
from corral.engines.reports import Message, MessageKind
from corral.engines.tasks import Task
from tests.engines.engine_suite import BOUNDS, Place, everything

LIMIT_SECONDS = 20
PHASES = list(RunPhase)

SAY = """
import json, os, socket, sys, time
talk = socket.socket(socket.AF_UNIX)
talk.connect(os.environ["CORRAL_SOCKET"])
def say(kind, **body):
    talk.sendall(json.dumps({"kind": kind, "body": body}).encode() + b"\\n")
    return talk.recv(1000).decode()
"""

# What the runs of the behaviour suite do, by the first word of their names.
PROGRAMS = {
    "endless": ("sh", "-c", "trap 'exit 0' TERM; echo listening; while :; do sleep 0.05; done"),
    "stubborn": ("sh", "-c", "trap '' TERM; echo listening; while :; do sleep 0.05; done"),
    "failing": ("sh", "-c", "exit 1"),
    "done": ("python3", "-c", f"{SAY}\nsay('report', step=1, loss=0.5)\nsay('done')\ntime.sleep(60)"),
}
LISTENERS = ("endless", "stubborn")
WORK = ("sh", "-c", "echo it works for a moment; sleep 0.05; echo and is ready")


class ContentsInDirectory:
    """A content store for tests: files under their digest."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def put(self, file: Path, form: Form) -> Content:
        data = file.read_bytes()
        content = Content(sha256(data).hexdigest(), len(data), form)
        self.directory.mkdir(exist_ok=True)
        (self.directory / content.sha256).write_bytes(data)
        return content

    def find(self, content: Content) -> Archive:
        path = self.directory / content.sha256
        if not path.exists():
            raise ContentMissing("nobody has it")
        return Archive(path, content.form or Form.TAR)


class LocalPlace(Place):
    node = "here"
    devices = ("gpu0", "gpu1")
    device_memory_mib = 80 * 1024
    grace_seconds = 1

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self._listeners: set[str] = set()
        self.settings: dict[str, Any] = {"simulated_gpus": "2xH100-80GB", "bounds": BOUNDS, **settings}
        # Without control groups an ordinary user has no limits: only their own work is taken.
        self.settings.setdefault("trusted", os.geteuid() != 0)
        self.contents = ContentsInDirectory(directory / "contents")
        self.engine: LocalEngine = self.another_engine()

    def another_engine(self) -> LocalEngine:
        return LocalEngine(
            self.directory / "data",
            self.directory / "sockets",
            node=self.node,
            contents=self.contents,
            **self.settings,
        )

    def run_directory(self, run: str, attempt: int = 1) -> Path:
        return self.directory / "data" / "run" / f"{run}-{attempt}"

    def supervisor(self, run: str) -> int:
        pid = locks.holder(self.run_directory(run))
        assert pid is not None, f"nobody supervises {run}"
        return pid

    def task(self, name: str) -> Task:
        return Task("ada", PROGRAMS.get(name.split("-")[0], WORK), name, memory_mib=256)

    def sized(self, name: str, *command: str, **more: Any) -> Start:
        """A run of one command, without devices."""
        return Start(name, name, "0", 1, self.node, (), replace(self.task(name), command=command, **more))

    def gang(self, name: str, commands: list[tuple[str, ...]]) -> list[Start]:
        return [
            Start(
                f"{name}-{index}",
                name,
                str(index),
                1,
                self.node,
                (DeviceUse(self.devices[index % 2], 1024),),
                replace(self.task(name), command=command),
            )
            for index, command in enumerate(commands)
        ]

    def start(self, run: str, device: int = 0, mib: int | None = None, node: str = "") -> Start:
        if run.startswith(LISTENERS):
            self._listeners.add(run)
        return super().start(run, device, mib, node)

    async def reach(self, run: str, phase: RunPhase) -> Run:
        found = await self._reach(run, phase)
        if found.phase is RunPhase.RUNNING and run in self._listeners:
            await self.wrote(run, "listening")  # before that, a shell does not know what to do with a signal
        return found

    async def _reach(self, run: str, phase: RunPhase) -> Run:
        until = time.monotonic() + LIMIT_SECONDS
        while True:
            observed = await self.engine.observe()
            found = {each.run: each for each in observed.runs}[run]
            if PHASES.index(found.phase) >= PHASES.index(phase):
                return found
            assert time.monotonic() < until, f"{run} stays {found.phase}"
            await self.engine.wait(observed.cursor, 1)

    async def finish(self, start: Start) -> Run:
        await self.engine.start([start])
        return await self.reach(start.run, RunPhase.ENDED)

    async def output(self, run: str) -> str:
        return (await self.engine.logs(run, 0, 1_000_000)).data.decode()

    async def wrote(self, run: str, word: str) -> None:
        """Waits until the run has written this."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while word not in await self.output(run):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)

    async def said(self, run: str, kind: MessageKind) -> Message:
        async with asyncio.timeout(LIMIT_SECONDS):
            while True:
                for message in await self.engine.messages({}):
                    if (message.run, message.kind) == (run, kind):
                        return message
                await asyncio.sleep(0.02)

    async def lose(self, run: str) -> None:
        os.kill(self.supervisor(run), signal.SIGKILL)

    async def forget_what_was_told(self) -> None:
        await self.engine.close()
        self.engine = self.another_engine()

    async def close(self) -> None:
        await self.engine.kill(await everything(self.engine))
        for run in await everything(self.engine):
            await self.reach(run, RunPhase.ENDED)
        await self.engine.close()
        await self.supervisors_gone()

    async def supervisors_gone(self) -> None:
        """A supervisor tidies up after the last ending."""
        until = time.monotonic() + LIMIT_SECONDS
        while any(locks.holder(lock.parent) for lock in (self.directory / "data").glob("*/*/lock")):
            assert time.monotonic() < until, "a supervisor stays"
            await asyncio.sleep(0.01)


def _make_directory(above: Path | None) -> Path:
    directory = Path(tempfile.mkdtemp(prefix="corral-", dir=above))
    directory.chmod(0o755)
    return directory


@asynccontextmanager
async def local_place(above: Path | None = None, **settings: Any) -> AsyncIterator[LocalPlace]:
    # A short path that every user can pass: sockets have at most 108 bytes.
    directory = _make_directory(above)
    place = LocalPlace(directory, **settings)
    try:
        yield place
        await place.close()
    finally:
        shutil.rmtree(directory)
