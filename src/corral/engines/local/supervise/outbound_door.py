"""The supervisor's side of the door out: one process per attempt serves it, under limits of its own."""

import contextlib
import os
import signal
from collections.abc import Callable
from mmap import mmap

from corral.engines.local.doors import outbound
from corral.engines.local.kernel.cgroups import Group, Limits
from corral.engines.local.records.spec import Spec
from corral.engines.local.sandbox.namespaces import Attempt
from corral.engines.local.supervise.event_loop import Loop

# What relaying may cost, beside what the work itself may.
_LIMITS = Limits(cpu_milli=1000, memory_mib=256, processes=64)
_AGAIN_SECONDS = 1
_HEARD_BYTES = 65536


class OutboundDoor:
    """Closed unless the attempt may reach the network; opened again when its process ends unasked.

    `relayed` is where its process counts; `on_refusal` hears why hosts were not reached.
    """

    def __init__(self, loop: Loop, spec: Spec, group: Group) -> None:
        self.group = group
        self._loop = loop
        self._spec = spec
        self.relayed: mmap | None = None
        self._pid: int | None = None
        self._closed = not spec.network
        self.on_refusal: Callable[[str], None] | None = None
        self._refusals: tuple[int, int] | None = None
        self._heard = 0

    def variables(self) -> dict[str, str]:
        return outbound.variables() if self._spec.network else {}

    def open(self, shared: Attempt) -> None:
        if self._closed:
            return
        self.group.create(_LIMITS)
        if self.on_refusal is not None and self._refusals is None:
            self._refusals = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
            self._loop.watch(self._refusals[0], self.hear)
        self._pid = outbound.start(
            shared,
            self._spec.uid,
            self._spec.gid,
            allowed=self._spec.allowed,
            cgroups=self.group.entrances,
            relayed=self.relayed,
            refusals=None if self._refusals is None else self._refusals[1],
        )
        self._loop.watch_once(os.pidfd_open(self._pid), lambda: self._ended(shared))

    def hear(self) -> None:
        """Takes what was said of refusals; it comes from a process that reads what hostile programs write."""
        if self._refusals is None or self.on_refusal is None:
            return
        with contextlib.suppress(BlockingIOError):
            lines = os.read(self._refusals[0], _HEARD_BYTES).decode("utf-8", "replace").splitlines()
            for line in lines[: outbound.MOST_REFUSALS - self._heard]:
                self._heard += 1
                self.on_refusal(line)

    def close(self) -> None:
        self._closed = True
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = None

    def _ended(self, shared: Attempt) -> None:
        if self._pid is not None and not self._closed:
            os.waitpid(self._pid, 0)
            self._pid = None
            self._loop.after(_AGAIN_SECONDS, lambda: self.open(shared))
