"""API, command and console read and write durations alike: `web/tests/durations.test.ts` uses these cases."""

import json
from pathlib import Path
from typing import Any

import pytest

from corral.core import quantities
from corral.core.durations import duration_words

CASES: dict[str, Any] = json.loads((Path(__file__).parent / "durations.json").read_text())


@pytest.mark.parametrize(("text", "seconds"), CASES["read"])
def test_duration_is_read(text: str, seconds: int) -> None:
    assert quantities.seconds(text) == seconds


@pytest.mark.parametrize("text", CASES["refused"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="such as 90s"):
        quantities.seconds(text)


@pytest.mark.parametrize(("seconds", "words"), CASES["words"])
def test_duration_in_words_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert duration_words(seconds) == words


def test_age_has_one_unit() -> None:
    assert [duration_words(one, units=1) for one in (59, 130, 86_399, 200_000)] == [
        "59 s",
        "2 min",
        "23 h",
        "2 d",
    ]
