"""The log of the application in a test: as JSON lines in memory, and as before afterwards."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from corral.server.logs import set_up_logs


@contextmanager
def logged(level: str = "info", style: str = "json") -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, before, configured = root.handlers, root.level, structlog.get_config()
    stream = io.StringIO()
    set_up_logs(level, style, stream)
    # Loggers of modules keep what they were first configured with, if they were used before.
    structlog.configure(cache_logger_on_first_use=False)
    try:
        yield stream
    finally:
        root.handlers = handlers
        root.setLevel(before)
        structlog.configure(**configured)
