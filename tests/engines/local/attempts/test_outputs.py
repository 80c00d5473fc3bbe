"""Output is found while its directory moves from where runs are to where those that are gone are kept."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from corral.engines.local.attempts import outputs
from corral.engines.local.records import layout
from corral.engines.local.records.segments import SegmentWriter
from corral.engines.reports import LogChunk


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The directory of an attempt that wrote something."""
    directory = tmp_path / "here"
    writer = SegmentWriter(directory / layout.output_name(0))
    writer.write(b"hello")
    writer.close()
    return directory


def test_output_is_found_where_it_is(here: Path, tmp_path: Path) -> None:
    assert outputs.find_output((here, tmp_path / "gone"), 0, 0, 10).data == b"hello"
    assert outputs.find_output((tmp_path / "nothing", here), 0, 0, 10).data == b"hello"


def test_output_that_moves_while_it_is_read_is_read_again(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, moves = outputs.read_output, iter([True])

    def read_after_it_moved(directory: Path, index: int, after: int, limit: int) -> LogChunk:
        _move(here, tmp_path / "gone", moves)
        return read(directory, index, after, limit)

    monkeypatch.setattr(outputs, "read_output", read_after_it_moved)
    assert outputs.find_output((here, tmp_path / "gone"), 0, 0, 10).data == b"hello"


def _move(here: Path, there: Path, moves: Iterator[bool]) -> None:
    if next(moves, False):
        here.rename(there)


def say(directory: Path, count: int) -> None:
    writer = SegmentWriter(directory / layout.said_name(0))
    for number in range(count):
        line = {"kind": "report", "at": number, "body": {"step": number}}
        writer.write(json.dumps(line).encode() + b"\n")
    writer.close()


def test_run_that_says_much_leaves_others_their_share(tmp_path: Path) -> None:
    for name, count in (("chatty", 500), ("quiet", 3), ("other", 40)):
        say(tmp_path / name, count)
    places = [(name, name, 0) for name in ("chatty", "quiet", "other", "missing")]
    found, went = outputs.read_fairly(tmp_path.joinpath, places, {}, 100)
    by_run = Counter(message.run for message in found)
    assert by_run == {"chatty": 57, "quiet": 3, "other": 40}
    assert [message.body["step"] for message in found if message.run == "chatty"] == list(range(57))
    assert went == {"chatty": None, "quiet": None, "other": None, "missing": None}
    last = {message.run: message.number for message in found}
    rest, _ = outputs.read_fairly(tmp_path.joinpath, places, last, 1000)
    assert Counter(message.run for message in rest) == {"chatty": 443}
