"""What runs wrote and said, read back from where supervisors keep it. It blocks: call it in a thread."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from corral.core.failures import in_words
from corral.engines.local.records import durable_json, layout
from corral.engines.local.records.segments import read_segments
from corral.engines.reports import LogChunk, Message, MessageKind

_READ_BYTES = 256 * 1024


def find_output(directories: Sequence[Path], index: int, after: int, limit: int) -> LogChunk:
    """The output from the first of these directories that is there; it may move on to the next meanwhile."""
    for directory in directories:
        chunk = read_output(directory, index, after, limit)
        if directory.exists():  # else it moved while we read, or was never here
            return chunk
    return chunk


def read_output(directory: Path, index: int, after: int, limit: int) -> LogChunk:
    """Output from `after` on, and what of it is not kept."""
    # First the record, then the output: what comes after the record is no more.
    record = durable_json.read(directory, layout.exit_name(index))
    offset, data = read_segments(directory / layout.output_name(index), after, limit)
    if record is None:
        return LogChunk(data, offset, offset + len(data), dropped=offset - after)
    total = record.get("output_bytes", 0)
    assert isinstance(total, int)
    if not data:
        return LogChunk(b"", max(after, total), max(after, total), max(0, total - after), ended=True)
    following = offset + len(data)
    return LogChunk(data, offset, following, dropped=offset - after, ended=following >= total)


def read_messages(directory: Path, run: str, index: int, after: int, limit: int) -> list[Message]:
    """What the run said after the message with this number. A number is the offset at which its line ends."""
    messages: list[Message] = []
    while len(messages) < limit:
        offset, data = read_segments(directory / layout.said_name(index), after, _READ_BYTES)
        # A line without an end is still being written, or was cut by a full disk and a gap follows it.
        lines = data.split(b"\n")[:-1]
        for line in lines:
            offset += len(line) + 1
            messages.append(_message(run, offset, line))
        if not lines:
            return messages
        after = offset
    return messages[:limit]


def read_fairly(
    directory_of: Callable[[str], Path],
    places: Sequence[tuple[str, str, int]],
    after: Mapping[str, int],
    limit: int,
) -> tuple[tuple[Message, ...], dict[str, str | None]]:
    """What several runs (name, attempt, index) said, and how it went with each attempt.

    Each has its share of `limit` before any has more; what some leave goes to those with more to say.
    """
    found: list[Message] = []
    went: dict[str, str | None] = {}
    heard = dict(after)
    talking = list(places)
    while talking and len(found) < limit:
        share = max(1, (limit - len(found)) // len(talking))
        going_on = []
        for run, name, index in talking:
            most = min(share, limit - len(found))
            if not most:
                break
            try:
                messages = read_messages(directory_of(name), run, index, heard.get(run, 0), most)
                went.setdefault(name, None)
            except (OSError, ValueError, KeyError, TypeError) as error:
                went[name] = in_words(error, with_names=True)
                continue
            found += messages
            if len(messages) == most:
                heard[run] = messages[-1].number
                going_on.append((run, name, index))
        talking = going_on
    return tuple(found), went


def _message(run: str, number: int, line: bytes) -> Message:
    content = json.loads(line)
    return Message(run, number, MessageKind(content["kind"]), content["at"], content["body"])
