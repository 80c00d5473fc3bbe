"""Asking the planner: a process of its own, so that a long search never holds up a request.

It is started when it is first asked and may be lost at any time: `PlannerGoneError` then, and the next
question starts a new one, which knows nothing and must be loaded. `generation` tells a reader that it did.
"""

import asyncio
import contextlib
import sys
from typing import TypeVar, overload

import structlog

from corral.control.planner_child import ANSWERS, LENGTH, REFUSED, frame, unframe
from corral.core.plans import Plan
from corral.scheduling.live.live_planner import (
    Answer,
    Changes,
    Explain,
    Load,
    MakePlan,
    Probe,
    ProbeResult,
    Question,
)
from corral.scheduling.validate.snapshot import read_value, write_value

STOP_SECONDS = 2.0

log = structlog.get_logger(__name__)
T = TypeVar("T")


class PlannerGoneError(Exception):
    """The planner's process ended; what it knew must be told to the next one."""


class PlannerRefusedError(Exception):
    """The planner found a question that makes no sense, in its own words."""


class Planner:
    """One question at a time; others wait in line."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._line = asyncio.Lock()
        self.generation = 0

    @overload
    async def ask(self, question: MakePlan) -> Plan: ...
    @overload
    async def ask(self, question: Probe | Explain) -> ProbeResult: ...
    @overload
    async def ask(self, question: Load | Changes) -> None: ...

    async def ask(self, question: Question) -> Answer:
        try:
            request = frame(type(question).__name__, write_value(question))
        except ValueError as error:
            raise PlannerRefusedError("something in the question is not of its type") from error
        async with self._line:
            if isinstance(question, Load):
                await self._start()
            process = self._process
            if process is None or process.returncode is not None:
                raise PlannerGoneError("the planner's process is not there")
            try:
                kind, body = await self._exchange(process, request)
            except (OSError, asyncio.IncompleteReadError) as error:
                await self._end()
                raise PlannerGoneError("the planner's process ended in the middle of a question") from error
            except asyncio.CancelledError:
                # Half an answer would be taken for that of the next question.
                await self._end()
                raise
        if kind == REFUSED:
            raise PlannerRefusedError(body.decode())
        form = ANSWERS.get(kind)
        return None if form is None else read_value(body, form)

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    async def close(self) -> None:
        async with self._line:
            await self._end()

    async def _exchange(self, process: asyncio.subprocess.Process, request: bytes) -> tuple[str, bytes]:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(request)
        await process.stdin.drain()
        (length,) = LENGTH.unpack(await process.stdout.readexactly(LENGTH.size))
        return unframe(await process.stdout.readexactly(length))

    async def _start(self) -> None:
        if self._process is not None and self._process.returncode is None:
            return
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "corral.control.planner_child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        self.generation += 1
        log.debug("planner started", pid=self._process.pid)

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
