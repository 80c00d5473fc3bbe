"""Output of a simulated run: computed from its row, never stored. Every line comes at its instant."""

from datetime import UTC, datetime
from typing import NamedTuple

from corral.engines.interface import Ending
from corral.engines.reports import LogChunk
from corral.engines.simulated_zone.world import NEVER, SECOND, RunRow

_PARTS = 4


class Line(NamedTuple):
    at: int
    text: str


def lines(row: RunRow) -> list[Line]:
    """All lines in order, also those that are ahead."""
    found: list[Line] = []
    if row.runs_at < NEVER:
        found.append(
            Line(row.runs_at, f"{_time(row.runs_at)} Started on {row.node}. Simulated: nothing is computed.")
        )
        found += _progress(row)
        if row.leaves_at < row.ends_at:
            found.append(Line(row.leaves_at, f"{_time(row.leaves_at)} Told to stop; saving."))
    if row.ends_at < NEVER:
        found.append(Line(row.ends_at, f"{_time(row.ends_at)} {_end(row)}"))
    return found


def next_line(row: RunRow, after: int) -> int | None:
    """When the line comes that has the byte at this offset."""
    length = 0
    for line in lines(row):
        length += len(line.text.encode()) + 1
        if length > after:
            return line.at
    return None


def output(row: RunRow, at: int, after: int, limit: int) -> LogChunk:
    """What can be read at an instant, from an offset on."""
    whole = "".join(f"{line.text}\n" for line in lines(row) if line.at <= at).encode()
    data = whole[after : after + limit]
    following = min(after, len(whole)) + len(data)
    return LogChunk(data, after, following, ended=row.ends_at <= at and following == len(whole))


def _progress(row: RunRow) -> list[Line]:
    if row.duration_us == NEVER:
        return []
    found = []
    if row.carried_us:
        done, whole = row.carried_us // SECOND, row.duration_us // SECOND
        found.append(
            Line(row.runs_at, f"{_time(row.runs_at)} Resumed: {done} of {whole} s were done before.")
        )
    for part in range(1, _PARTS):
        at = row.runs_at + row.duration_us * part // _PARTS - row.carried_us
        if row.runs_at < at < min(row.leaves_at, row.ends_at):
            found.append(Line(at, f"{_time(at)} Progress: {100 * part // _PARTS} %"))
    return found


def _end(row: RunRow) -> str:
    words = {
        Ending.SUCCEEDED: "Finished",
        Ending.FAILED: "Failed",
        Ending.SUSPENDED: "Suspended",
        Ending.REFUSED: "Did not start",
        Ending.LOST: "Lost",
    }
    word = words[Ending(row.ending)]
    return f"{word}: {row.detail}." if row.detail else f"{word}."


def _time(instant: int) -> str:
    return f"{datetime.fromtimestamp(instant // SECOND, UTC):%Y-%m-%dT%H:%M:%SZ}"
