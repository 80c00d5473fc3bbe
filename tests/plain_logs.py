"""What Corral logs in a test's own process, one plain line each: shown when the test fails.

structlog's own rendering, in colours and columns, is a tenth of the CPU of a small test of the API.
"""

from functools import cache

import structlog


@cache
def render_logs_plainly() -> None:
    """Once per process; a test that configures logs puts back what it found."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.StackInfoRenderer(),
            structlog.dev.set_exc_info,
            structlog.processors.format_exc_info,
            structlog.processors.TimeStamper(fmt="%H:%M:%S"),
            structlog.processors.LogfmtRenderer(
                key_order=["timestamp", "level", "event"], bool_as_flag=False
            ),
        ]
    )
