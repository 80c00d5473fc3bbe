"""What the log shows, and what it never shows."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from corral.server.logs import LONGEST_VALUE, MASK, set_up_logs

TOKEN = "corral_t01k9x3v7qzt8m2c4w6d0ef_" + "s" * 43


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, configured = root.handlers, root.level, structlog.get_config()
    yield
    root.handlers = handlers
    root.setLevel(level)
    structlog.configure(**configured)


def written(style: str, **values: Any) -> str:
    stream = io.StringIO()
    set_up_logs("info", style, stream)
    structlog.get_logger("corral.test").info("something happened", **values)
    return stream.getvalue()


def test_json_lines_parse_and_carry_who_said_it_when() -> None:
    line = json.loads(written("json", text="第一行\nsecond line"))
    assert line["event"] == "something happened"
    assert line["text"] == "第一行\nsecond line"
    assert (line["level"], line["logger"]) == ("info", "corral.test")
    assert line["timestamp"].endswith("Z")


@pytest.mark.parametrize("style", ["json", "text"])
def test_secrets_are_masked_wherever_they_stand(style: str) -> None:
    text = written(
        style,
        password="hunter2hunter2",
        X_CSRF_Token="abc-csrf",
        headers={"Authorization": "Bearer zzz", "cookies": [{"cookie": "yyy"}], "accept": "json"},
        note=f"sent {TOKEN} along",
    )
    for secret in ("hunter2", "abc-csrf", "zzz", "yyy", "ssss"):
        assert secret not in text
    assert MASK in text
    assert "json" in text


def test_long_values_are_cut() -> None:
    line = json.loads(written("json", text="x" * 10_000, nested=["y" * 10_000]))
    assert line["text"] == "x" * LONGEST_VALUE + "… (10000 characters)"
    assert len(line["nested"][0]) < LONGEST_VALUE + 30


@pytest.mark.parametrize("style", ["json", "text"])
def test_an_error_shows_its_trace_but_no_local_variables(style: str) -> None:
    stream = io.StringIO()
    set_up_logs("info", style, stream)
    local_secret = "retnuh"[::-1] + "2"
    try:
        raise ValueError(f"broken after {len(local_secret)}")
    except ValueError:
        structlog.get_logger("corral.test").exception("unhandled error")
    text = stream.getvalue()
    assert "ValueError: broken after 7" in text
    assert "hunter2" not in text
    if style == "json":
        assert "Traceback" in json.loads(text)["exception"]


def test_libraries_speak_through_the_same_lines_and_noisy_ones_only_when_it_matters() -> None:
    stream = io.StringIO()
    set_up_logs("info", "json", stream)
    logging.getLogger("some.library").warning("cannot %s", "connect")
    logging.getLogger("uvicorn.error").info("not shown")
    logging.getLogger("some.library").debug("not shown either")
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line)["event"] == "cannot connect"
