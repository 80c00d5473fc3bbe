"""Starts a command once for each GPU of a replica, as torchrun does, and needs nothing of the command.

    python3 -m corral_sdk.launch -- python3 train.py

LOCAL_WORLD_SIZE says how many, NODE_RANK which replica this is; every process gets its RANK and LOCAL_RANK.
What the processes write is left as it is. Signals are passed on. When one process fails, the others are told
to end, and then ended; the exit code is that of the one that failed first.
"""

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

__all__ = ["main"]

GRACE_SECONDS = 15.0
_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


class _Group:
    """The processes of one replica."""

    def __init__(self, command: Sequence[str], processes: int, replica: int) -> None:
        self.failed: int | None = None  # the exit code of the first one that did
        self._left: dict[int, subprocess.Popen[bytes]] = {}
        try:
            for local in range(processes):
                own = {"RANK": str(replica * processes + local), "LOCAL_RANK": str(local)}
                started = subprocess.Popen(command, env={**os.environ, **own})  # noqa: S603
                self._left[os.pidfd_open(started.pid)] = started
        except OSError:
            self.signal(signal.SIGKILL)
            raise

    @property
    def is_over(self) -> bool:
        return not self._left

    def signal(self, number: int) -> None:
        for process in self._left.values():
            process.send_signal(number)

    def wait(self, wake: int, seconds: float | None) -> None:
        """Until one of them ends, a signal comes (on `wake`), or the time is over."""
        ready, _, _ = select.select([wake, *self._left], [], [], seconds)
        for descriptor in ready:
            if descriptor != wake:
                self._note_end(descriptor)

    def _note_end(self, descriptor: int) -> None:
        code = self._left.pop(descriptor).wait()
        os.close(descriptor)
        if code and self.failed is None:
            self.failed = code if code > 0 else 128 - code


def main(arguments: Sequence[str]) -> int:
    """Runs the command and returns the exit code."""
    command = list(arguments[1:] if arguments[:1] == ["--"] else arguments)
    if not command:
        print("corral: no command given to launch", file=sys.stderr)
        return 2
    signals, wake = _listen()
    try:
        group = _Group(command, _number("LOCAL_WORLD_SIZE", 1), _number("NODE_RANK", 0))
    except OSError as error:
        print(f"corral: {command[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return 127 if isinstance(error, FileNotFoundError) else 126
    _supervise(group, signals, wake)
    return group.failed or 0


def _supervise(group: _Group, signals: list[int], wake: int) -> None:
    deadline: float | None = None
    while not group.is_over:
        group.wait(wake, None if deadline is None else max(0.0, deadline - time.monotonic()))
        if select.select([wake], [], [], 0)[0]:
            os.read(wake, 4096)
        while signals:
            group.signal(signals.pop(0))
        if group.failed is not None and deadline is None:
            group.signal(signal.SIGTERM)
            deadline = time.monotonic() + GRACE_SECONDS
        elif deadline is not None and time.monotonic() >= deadline:
            group.signal(signal.SIGKILL)
            deadline = time.monotonic() + GRACE_SECONDS


def _listen() -> tuple[list[int], int]:
    """Signals that came, in order, and a descriptor that is readable when one did."""
    signals: list[int] = []
    wake, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _frame: signals.append(number))
    return signals, wake


def _number(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else default


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
