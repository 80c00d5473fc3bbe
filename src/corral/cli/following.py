"""Staying with a workload from its queue to its end: why it waits, what it writes, what became of it.

A Corral that is restarted meanwhile is asked again, and the output goes on at the offset where it stopped.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from corral_sdk import Client, CorralError, Problem, UnreachableError, UntrustedError
from corral_sdk.models import Log, WorkloadDetail

from corral.cli.output import warn
from corral.cli.replicas import Lines, Replicas
from corral.cli.status_line import StatusLine
from corral.cli.verdict_words import verdict_line
from corral.cli.work_words import exit_code_of, is_unplaced, since_words, where_words

__all__ = ["Detached", "Follower"]

T = TypeVar("T")

_LONG_SECONDS = 20
_SHORT_SECONDS = 3
_PAUSE_SECONDS = 0.3
_FOR_NOW = (429, 502, 503, 504)
# What a Corral that stops or starts at this moment may say, and a moment later no longer.
_FOR_A_MOMENT = (401, 404, 500)
_MOMENT_SECONDS = 5
INTERRUPTED = 130


class Detached(Exception):
    """Nobody follows the work any more; it goes on."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Follower:
    """Watches one workload with all its replicas. `patience_seconds`: how long Corral may be silent."""

    def __init__(
        self, client: Client, workload_id: str, name: str, *, replicas: int = 1, patience_seconds: float = 600
    ) -> None:
        self._client = client
        self._id = workload_id
        self._name = name
        self._lines = Lines(replicas)
        self._others = Replicas(client, workload_id, replicas, self._lines)
        self._prefixed = replicas > 1
        self._patience_seconds = patience_seconds
        self._line = StatusLine()
        self._stopping = False
        self._place: tuple[int | None, int] = None, 0  # attempt and offset to read on from

    def note(self, text: str) -> None:
        self._line.say(text)

    def to_the_end(self) -> int:
        """Returns the work's own exit code. Ctrl-C asks what to do; raises `Detached` if it is to run on."""
        if self._line.on_terminal:
            self._line.show(f"{self._name} is submitted as {self._id}.")
        while True:
            try:
                if self._attempt():
                    return self._over()
                attempt, _ = self._place
                self._place = (attempt or 0) + 1, 0
            except KeyboardInterrupt:
                self._interrupted()

    def _attempt(self) -> bool:
        """Watches one attempt to its end; whether the workload is over then."""
        wait = _SHORT_SECONDS
        while True:
            part = self._ask(partial(self._log, wait))
            if part is None:
                return True
            self._place = part.attempt or self._place[0], part.next
            self._write(part)
            if part.attempt:
                self._others.follow(part.attempt)
            if part.ended:
                self._others.finish()
                self._lines.end(0)
                return self._settled(part.attempt).is_over
            wait = _LONG_SECONDS if part.text or self._tell() else _SHORT_SECONDS

    def _log(self, wait_seconds: int) -> Log | None:
        attempt, after = self._place
        try:
            return self._client.workloads.log(
                self._id, attempt=attempt, replica=0, after=after, wait_seconds=wait_seconds
            )
        except Problem as problem:
            # An attempt that will never come: the work ended before it.
            if problem.status == 404 and self._client.workloads.get(self._id).is_over:
                return None
            raise

    def _settled(self, attempt: int) -> WorkloadDetail:
        """The workload when Corral has taken note of the attempt's end."""
        while True:
            seen = self._ask(lambda: self._client.workloads.get(self._id))
            if seen.is_over or is_unplaced(seen) or seen.attempt > attempt:
                return seen
            time.sleep(_PAUSE_SECONDS)

    def _tell(self) -> bool:
        """Says where it stands; whether it runs."""
        seen = self._ask(lambda: self._client.workloads.get(self._id))
        if is_unplaced(seen) and seen.wanted == "run":
            why = self._ask(lambda: self._client.workloads.why(self._id))
            before = f"{seen.reason.sentence} " if seen.attempt else ""
            self._line.show(f"{before}{self._name} is {seen.state}. {verdict_line(why)}")
        elif self._line.on_terminal:
            quiet = seen.state == "running" and f"runs on {where_words(seen)}; nothing new for a while."
            self._line.show(f"{self._name} {quiet or f'is {seen.state}. {seen.reason.sentence}'}")
        return seen.state == "running"

    def _write(self, part: Log) -> None:
        if part.dropped:
            self._line.say(f"[{part.dropped} bytes of output are no longer kept]")
        if part.text:
            self._line.clear()
            self._lines.write(0, part.text)
            self._line.in_a_line = not self._prefixed and not part.text.endswith("\n")

    def _over(self) -> int:
        seen = self._ask(lambda: self._client.workloads.get(self._id))
        if seen.state != "succeeded":
            self._line.say(f"{self._name} {_ENDS[seen.state]}: {seen.reason.sentence}")
        elif self._line.on_terminal:
            took = since_words(seen.started_at)
            self._line.say(f"{self._name} succeeded after {took}.")
        return exit_code_of(seen)

    def _interrupted(self) -> None:
        """Asks what to do; returns to keep following."""
        self._line.clear()
        if self._stopping or not (self._line.on_terminal and sys.stdin.isatty()):
            raise self._detach(INTERRUPTED)
        try:
            answer = self._line.ask(f"Stop {self._name}, or detach and let it run? [s/d]")
        except KeyboardInterrupt:
            warn("")
            raise self._detach(INTERRUPTED) from None
        if answer.strip().lower() not in ("s", "stop"):
            raise self._detach(0)
        self._stopping = True
        self._client.workloads.stop(self._id)
        self._line.say(f"{self._name} is stopping; another Ctrl-C detaches.")

    def _detach(self, code: int) -> Detached:
        self._line.say(f"{self._name} goes on. See it: corral logs -f {self._id}")
        self._line.say(f"End it: corral stop {self._id}")
        return Detached(code)

    def _ask(self, question: Callable[[], T]) -> T:
        """Asks again while Corral is away for a moment, as when it is restarted."""
        since = time.monotonic()
        while True:
            try:
                return question()
            except (UnreachableError, Problem) as error:
                seconds = time.monotonic() - since
                if not _passes(error, seconds) or seconds > self._patience_seconds:
                    raise
                self._line.show(f"Corral does not answer; {self._name} goes on. Trying again.")
                time.sleep(_PAUSE_SECONDS)


_ENDS = {"failed": "failed", "stopped": "was stopped", "deleted": "was deleted"}


def _passes(error: CorralError, seconds: float) -> bool:
    if isinstance(error, Problem):
        return error.status in _FOR_NOW or (error.status in _FOR_A_MOMENT and seconds < _MOMENT_SECONDS)
    return not isinstance(error, UntrustedError)
