"""Workloads of every kind: what runs, why it waits, what it wrote."""

import time
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from corral_sdk._decode import decode
from corral_sdk._problems import Problem, UnreachableError, UntrustedError
from corral_sdk._resource import Resource, given
from corral_sdk._streams import Connection, Execution
from corral_sdk._transport import API
from corral_sdk.models import Acted, Log, Ticket, Verdict, Workload, WorkloadDetail, WorkloadSummary

__all__ = ["Workloads"]

_PIECE = 65536
_WAIT_SECONDS = 20
_PAUSE_SECONDS = 1.0
# What a Corral answers that is starting, stopping or busy.
_FOR_NOW = (429, 502, 503, 504)


class Workloads(Resource):
    """Work of every kind: your own, and other people's as far as you may see it."""

    def list(
        self,
        *,
        states: Sequence[str] = (),
        kinds: Sequence[str] = (),
        user_id: str | None = None,
        organisation_id: str | None = None,
        parent_id: str | None = None,
        search: str | None = None,
    ) -> Iterator[Workload]:
        """Newest first; all filters narrow."""
        query = given(
            state=states,
            kind=kinds,
            user_id=user_id,
            organisation_id=organisation_id,
            parent_id=parent_id,
            search=search,
        )
        return self._each(Workload, "workloads", query=query)

    def summary(
        self,
        *,
        kinds: Sequence[str] = (),
        user_id: str | None = None,
        organisation_id: str | None = None,
        parent_id: str | None = None,
        search: str | None = None,
    ) -> WorkloadSummary:
        """How many there are in each state, of those that the list would show."""
        query = given(
            kind=kinds,
            user_id=user_id,
            organisation_id=organisation_id,
            parent_id=parent_id,
            search=search,
        )
        return self._get(WorkloadSummary, "workloads", "summary", query=query)

    def get(self, workload_id: str) -> WorkloadDetail:
        return self._get(WorkloadDetail, "workloads", workload_id)

    def act(self, action: str, workload_ids: Sequence[str]) -> Acted:
        """Stops, suspends, resumes or deletes many at once, and their children with them."""
        body = {"action": action, "ids": [*workload_ids]}
        return decode(Acted, self._act("workloads", "actions", body=body))

    def stop(self, workload_id: str) -> WorkloadDetail:
        return self._do(workload_id, "stop")

    def suspend(self, workload_id: str) -> WorkloadDetail:
        return self._do(workload_id, "suspend")

    def resume(self, workload_id: str) -> WorkloadDetail:
        return self._do(workload_id, "resume")

    def delete(self, workload_id: str) -> WorkloadDetail:
        return self._do(workload_id, "delete")

    def why(self, workload_id: str) -> Verdict:
        """Why it waits, when it will probably start, and what would help."""
        return self._get(Verdict, "workloads", workload_id, "why")

    def log(
        self,
        workload_id: str,
        *,
        attempt: int | None = None,
        replica: int = 0,
        after: int = 0,
        tail_bytes: int | None = None,
        wait_seconds: int = 0,
    ) -> Log:
        """One part of the output; with `wait_seconds`, as soon as there is more."""
        query = given(
            attempt=attempt, replica=replica, after=after, tail_bytes=tail_bytes, wait_seconds=wait_seconds
        )
        return self._get(Log, "workloads", workload_id, "logs", query=query)

    def issue_ticket(self, workload_id: str, *, port: int | None = None) -> Ticket:
        """Lets a browser into an app of your work, once, within a minute."""
        return decode(Ticket, self._act("workloads", workload_id, "tickets", body={"port": port}))

    def logs(
        self,
        workload_id: str,
        *,
        attempt: int | None = None,
        replica: int = 0,
        after: int = 0,
        tail_bytes: int | None = None,
        follow: bool = False,
        patience_seconds: float = 120.0,
    ) -> Iterator[Log]:
        """The output of one attempt, part by part; with `follow`, until that attempt has ended.

        A Corral that does not answer for a while is asked again, for `patience_seconds` in a row.
        """
        last_heard = time.monotonic()
        while True:
            try:
                part = self.log(
                    workload_id,
                    attempt=attempt,
                    replica=replica,
                    after=after,
                    tail_bytes=tail_bytes,
                    wait_seconds=_WAIT_SECONDS if follow else 0,
                )
            except (UnreachableError, Problem) as error:
                if not _passes(error) or time.monotonic() - last_heard > patience_seconds:
                    raise
                time.sleep(_PAUSE_SECONDS)
                continue
            last_heard = time.monotonic()
            progress = part.next > after
            attempt, after, tail_bytes = part.attempt or attempt, part.next, None
            yield part
            if part.ended or not (follow or progress):
                return

    def download_log(
        self, workload_id: str, to: BinaryIO, *, attempt: int | None = None, replica: int = 0
    ) -> int:
        """Writes all output that is kept; returns the bytes written."""
        written = 0
        query = {"attempt": attempt, "replica": replica}
        path = f"{API}/workloads/{workload_id}/logs/download"
        with self._transport.stream(path, query=query) as response:
            while piece := response.read(_PIECE):
                to.write(piece)
                written += len(piece)
        return written

    def execute(
        self,
        workload_id: str,
        command: Sequence[str],
        *,
        replica: int = 0,
        terminal: tuple[int, int] | None = None,
    ) -> Execution:
        """A command inside running work; `terminal` is (rows, columns)."""
        return Execution(self._transport, workload_id, command, replica=replica, terminal=terminal)

    def connect(self, workload_id: str, port: int, *, replica: int = 0) -> Connection:
        """A connection to a port on which the work listens."""
        return Connection(self._transport, workload_id, port, replica=replica)

    def _do(self, workload_id: str, action: str) -> WorkloadDetail:
        return decode(WorkloadDetail, self._act("workloads", workload_id, action))


def _passes(error: Exception) -> bool:
    """Whether it may be over in a moment."""
    if isinstance(error, Problem):
        return error.status in _FOR_NOW
    return not isinstance(error, UntrustedError)
