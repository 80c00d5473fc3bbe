"""Processes that are told from all others by how long they sleep."""

import time
import uuid
from pathlib import Path

LIMIT_SECONDS = 20


def marked() -> tuple[str, str]:
    """A number of seconds that no other process sleeps, as found in its command line."""
    seconds = f"{uuid.uuid4().int % 10**9}.5"
    return seconds, f"sleep\0{seconds}\0"


def processes_with(words: str) -> list[int]:
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and (process / "cmdline").read_bytes().endswith(words.encode()):
                found.append(int(process.name))
        except OSError:  # it has ended meanwhile
            continue
    return found


def wait_until_there(words: str, count: int = 1) -> None:
    until = time.monotonic() + LIMIT_SECONDS
    while len(processes_with(words)) < count:
        assert time.monotonic() < until, "the processes do not come"
        time.sleep(0.01)


def wait_until_gone(words: str) -> None:
    until = time.monotonic() + LIMIT_SECONDS
    while processes_with(words):
        assert time.monotonic() < until, "processes stay"
        time.sleep(0.01)
