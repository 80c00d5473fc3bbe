"""Structured logs: lines for people or JSON for machines; secrets masked, long values cut.

They go to a file of bounded size, and the terminal shows only what may need somebody; or all of them go to
the terminal, for those whose terminal is a collector of logs.
"""

import contextlib
import logging
import re
import sys
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LONGEST_VALUE = 2_000
MASK = "********"
FILE_BYTES = 10 * 1024 * 1024
OLDER_FILES = 4
# The same trouble is told again on the terminal after this long; the file has every line.
QUIET_SECONDS = 600.0
_MOST_TOLD = 1_000
_LONGEST_ON_TERMINAL = 160
_SECRET_KEYS = ("password", "secret", "token", "cookie", "authorization", "private_key")
# What structlog and logging pass along for their own use.
_NOT_VALUES = frozenset({"exc_info", "_record"})
# A personal access token, wherever it turns up.
_TOKEN = re.compile(r"corral_t[0-9a-z]{22}_[A-Za-z0-9_-]+")


def set_up_logs(level: str, style: str, stream: TextIO = sys.stderr, file: Path | None = None) -> None:
    """Sends our logs and those of libraries through one pipeline: to the file, if there is one, and what may
    need somebody to the stream; otherwise all to the stream."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _mask,
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    terminal, handlers = logging.StreamHandler(stream), list[logging.Handler]()
    if file is None:
        terminal.setFormatter(_formatter(shared, _renderers(style, colors=stream.isatty())))
    else:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        handlers.append(written := _LogFile(file, stream))
        written.setFormatter(_formatter(shared, _renderers(style, colors=False)))
        terminal.setLevel(logging.WARNING)
        terminal.addFilter(_ForPeople())
        terminal.setFormatter(_formatter(shared, [_in_one_line]))
    root = logging.getLogger()
    root.handlers = [*handlers, terminal]
    root.setLevel(level.upper())
    for noisy in ("uvicorn.error", "uvicorn.access", "asyncio", "sqlalchemy", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _formatter(shared: list[Processor], renderers: list[Processor]) -> logging.Formatter:
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
    )


def _renderers(style: str, *, colors: bool) -> list[Processor]:
    if style == "json":
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    # Plain: the renderer's own choice would print every local variable, secrets among them.
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


class _LogFile(RotatingFileHandler):
    """The newest lines; what cannot be written (a full disk) is told once, not for every line."""

    def __init__(self, path: Path, stream: TextIO) -> None:
        super().__init__(path, maxBytes=FILE_BYTES, backupCount=OLDER_FILES, encoding="utf-8")
        self._terminal = stream
        self._is_told = False

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, ARG002 - the name is logging's
        if not self._is_told:
            self._is_told = True
            with contextlib.suppress(OSError):
                print(f"! {self.baseFilename} cannot be written: {sys.exc_info()[1]}", file=self._terminal)


class _ForPeople(logging.Filter):
    """Warnings of Corral and errors of anybody; each kind of trouble now and then."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[object, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR and not record.name.startswith("corral"):
            return False
        said = record.msg if isinstance(record.msg, dict) else {"event": record.msg}
        kind, now = (record.name, str(said.get("event")), str(said.get("loop"))), time.monotonic()
        if now - self._told.get(kind, -QUIET_SECONDS) < QUIET_SECONDS:
            return False
        if len(self._told) >= _MOST_TOLD:
            self._told.clear()
        self._told[kind] = now
        return True


def _in_one_line(_logger: WrappedLogger, _method: str, event: EventDict) -> str:
    """Without the trace, which is in the file; a value that others chose moves no cursor."""
    for unsaid in ("level", "logger", "timestamp", "exc_info", "exception", "stack_info"):
        event.pop(unsaid, None)
    what = "".join(sign if sign.isprintable() else " " for sign in str(event.pop("event", "")))
    values = ", ".join(f"{key}={_in_short(value)}" for key, value in event.items())
    return f"! {time.strftime('%H:%M:%S')} {what}" + (f" ({values})" if values else "")


def _in_short(value: object) -> str:
    text = repr(value.partition("\n")[0] if isinstance(value, str) else value)
    return text if len(text) <= _LONGEST_ON_TERMINAL else f"{text[:_LONGEST_ON_TERMINAL]}…"


def _mask(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    return {key: value if key in _NOT_VALUES else _safe(key, value) for key, value in event.items()}


def _safe(key: str, value: Any) -> Any:
    if any(word in key.lower() for word in _SECRET_KEYS):
        return MASK
    if isinstance(value, dict):
        return {name: _safe(str(name), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(key, item) for item in value]
    if isinstance(value, str):
        value = _TOKEN.sub(MASK, value)
        if len(value) > LONGEST_VALUE:
            return f"{value[:LONGEST_VALUE]}… ({len(value)} characters)"
    return value
