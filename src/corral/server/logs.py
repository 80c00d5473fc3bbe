"""Structured logs: lines for people on a terminal, JSON for machines; secrets masked, long values cut."""

import logging
import re
import sys
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

LONGEST_VALUE = 2_000
MASK = "********"
_SECRET_KEYS = ("password", "secret", "token", "cookie", "authorization", "private_key")
# What structlog and logging pass along for their own use.
_NOT_VALUES = frozenset({"exc_info", "_record"})
# A personal access token, wherever it turns up.
_TOKEN = re.compile(r"corral_t[0-9a-z]{22}_[A-Za-z0-9_-]+")


def set_up_logs(level: str, style: str, stream: TextIO = sys.stderr) -> None:
    """Sends our logs and those of libraries through one pipeline."""
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
    renderer: list[Processor]
    if style == "json":
        renderer = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        # Plain: the renderer's own choice would print every local variable, secrets among them.
        renderer = [
            structlog.dev.ConsoleRenderer(
                colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
        ]
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(level.upper())
    for noisy in ("uvicorn.error", "uvicorn.access", "asyncio", "sqlalchemy", "alembic"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


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
