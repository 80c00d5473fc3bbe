"""The output of all replicas of a gang in one place: whole lines, each with the number of its replica."""

import threading

from corral_sdk import Client, CorralError

from corral.cli.output import WorkOutput, print_exactly
from corral.cli.visible import plain

__all__ = ["MOST_FOLLOWED", "Lines", "Replicas"]

MOST_FOLLOWED = 8
_PATIENCE_SECONDS = 15.0


class Lines:
    """Writes what replicas say: of one alone as it comes, of several by whole lines."""

    def __init__(self, replicas: int) -> None:
        self._prefixed = replicas > 1
        self._width = len(str(replicas - 1))
        self._begun: dict[int, str] = {}
        self._filters = [WorkOutput(own=True) for _ in range(replicas)]
        self._turn = threading.Lock()

    def write(self, replica: int, text: str) -> None:
        self._write(replica, self._filters[replica].pass_on(text))

    def _write(self, replica: int, text: str) -> None:
        with self._turn:
            if self._prefixed:
                *lines, rest = (self._begun.get(replica, "") + text).split("\n")
                self._begun[replica] = rest
                text = "".join(f"{self._name(replica)}{line}\n" for line in lines)
            print_exactly(text)

    def end(self, replica: int) -> None:
        """What it wrote last had no end of line."""
        self._write(replica, self._filters[replica].end())
        if self._begun.get(replica):
            self._write(replica, "\n")

    def _name(self, replica: int) -> str:
        return f"[{replica:>{self._width}}] "


class Replicas:
    """Follows the replicas beside the first, one stream each, attempt by attempt."""

    def __init__(self, client: Client, workload_id: str, replicas: int, lines: Lines) -> None:
        self._client = client
        self._id = workload_id
        self._numbers = range(1, min(replicas, MOST_FOLLOWED))
        self._lines = lines
        self._attempt = 0
        self._streams: list[threading.Thread] = []

    def follow(self, attempt: int) -> None:
        """From now on what they write in this attempt is shown; asked again, nothing changes."""
        if attempt <= self._attempt:
            return
        self._attempt = attempt
        self._streams = [
            threading.Thread(target=self._show, args=(number, attempt), daemon=True)
            for number in self._numbers
        ]
        for stream in self._streams:
            stream.start()

    def finish(self) -> None:
        """Waits for the last words of an attempt that has ended; not for ever."""
        for stream in self._streams:
            stream.join(_PATIENCE_SECONDS)
        self._streams = []

    def _show(self, number: int, attempt: int) -> None:
        try:
            for part in self._client.workloads.logs(self._id, attempt=attempt, replica=number, follow=True):
                self._lines.write(number, part.text)
        except CorralError as error:
            # The first replica's stream tells whether the work goes on; this one is named and left.
            self._lines.write(number, f"(the output of this replica cannot be shown: {plain(str(error))})\n")
        self._lines.end(number)
