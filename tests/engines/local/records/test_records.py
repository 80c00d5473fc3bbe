"""Records fit the space that was taken for them, whatever programs put into them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from corral.engines.interface import Ending
from corral.engines.local.attempts.run_states import refused_record
from corral.engines.local.records import durable_json
from tests.engines.local.places import LocalPlace, local_place

EMOJI = "\N{GRINNING FACE}"
ODD = [EMOJI * 600, "\ud800" * 600, "\x00\x1b[2J" * 900, "é" * 5000, "a" * 5000, "中" * 1000]


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


async def test_program_with_a_long_name_of_emoji_ends_once_and_says_so(local: LocalPlace) -> None:
    ended = await local.finish(local.sized("a", EMOJI * 600))
    assert (ended.ending, ended.exit_code) == (Ending.FAILED, 127)
    assert ended.detail.startswith(f"cannot find file {EMOJI}")
    script = await local.finish(local.sized("b", "python3", f"{EMOJI * 60}.py"))
    assert script.ending is Ending.FAILED
    refused = local.sized("c", "true")
    assert refused.task is not None
    odd = await local.finish(replace(refused, task=replace(refused.task, workspace=EMOJI * 600)))
    assert odd.ending is Ending.REFUSED


@pytest.mark.parametrize("text", ODD)
def test_text_is_bounded_by_what_it_takes_encoded(text: str) -> None:
    short = durable_json.bounded(text)
    assert len(durable_json.encode({"detail": short})) < durable_json.TEXT_BYTES + 100
    assert short.isprintable()
    short.encode()


def test_text_that_fits_stays_as_it_is() -> None:
    assert durable_json.bounded("exit code 3") == "exit code 3"
    assert durable_json.bounded("é" * 10) == "é" * 10
    assert durable_json.bounded("a" * 11, 10) == "aaaa…"


@pytest.mark.parametrize("text", ODD)
def test_record_is_written_also_if_it_was_not_bounded(tmp_path: Path, text: str) -> None:
    durable_json.reserve(tmp_path, "exit-0.json")
    content = {"run": "a", "ending": "failed", "detail": text, "exit_code": 3, "usage": {text: 1}}
    durable_json.fill_reserved(tmp_path, "exit-0.json", content)
    assert (tmp_path / "exit-0.json").stat().st_size == durable_json.RECORD_BYTES
    found = durable_json.read(tmp_path, "exit-0.json")
    assert found is not None
    assert (found["ending"], found["exit_code"]) == ("failed", 3)


def test_refusal_is_bounded_too() -> None:
    assert len(durable_json.encode(refused_record("a", EMOJI * 600, 0))) < durable_json.RECORD_BYTES
