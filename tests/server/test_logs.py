"""What the log shows, and what it never shows."""

import contextlib
import io
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from corral.server.logs import LONGEST_VALUE, MASK, OLDER_FILES, set_up_logs

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


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "logs" / "corral.log"
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.FileHandler):
            handler.close()


def test_terminal_shows_what_may_need_somebody_and_the_file_has_all(log_file: Path) -> None:
    stream = io.StringIO()
    set_up_logs("info", "text", stream, log_file)
    log = structlog.get_logger("corral.test")
    log.info("turn done", things=3)
    logging.getLogger("some.library").warning("slow")
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("turn failed", loop="schedule", reason="no \x1b[2J room")
    (line,) = stream.getvalue().splitlines()
    assert re.fullmatch(r"! \d\d:\d\d:\d\d turn failed \(loop='schedule', reason='no \\x1b\[2J room'\)", line)
    written = log_file.read_text()
    for each in ("turn done", "slow", "turn failed", "ValueError: broken"):
        assert each in written
    assert "\x1b" not in written


def test_the_same_trouble_is_told_once_in_a_while_and_written_each_time(
    log_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    set_up_logs("info", "json", stream, log_file)
    log = structlog.get_logger("corral.test")
    for number in range(5):
        log.error("turn failed", loop="schedule", failures=number)
    log.error("turn failed", loop="reconcile")
    assert len(stream.getvalue().splitlines()) == 2
    assert len(log_file.read_text().splitlines()) == 6
    monkeypatch.setattr("corral.server.logs.QUIET_SECONDS", 0.0)
    log.error("turn failed", loop="schedule")
    assert len(stream.getvalue().splitlines()) == 3


def test_the_log_file_is_bounded(log_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.server.logs.FILE_BYTES", 2_000)
    set_up_logs("info", "json", io.StringIO(), log_file)
    for number in range(500):
        structlog.get_logger("corral.test").info("something happened", number=number)
    files = list(log_file.parent.iterdir())
    assert len(files) == OLDER_FILES + 1
    assert sum(file.stat().st_size for file in files) <= 2_000 * len(files)
    assert '"number": 499' in log_file.read_text()


def test_a_log_file_that_cannot_be_written_is_told_once() -> None:
    stream = io.StringIO()
    set_up_logs("info", "json", stream, Path("/dev/full"))
    for _ in range(3):
        structlog.get_logger("corral.test").info("something happened")
    for handler in logging.getLogger().handlers:
        with contextlib.suppress(OSError):  # what it could not write before
            handler.close()
    (line,) = stream.getvalue().splitlines()
    assert line == "! /dev/full cannot be written: [Errno 28] No space left on device"
