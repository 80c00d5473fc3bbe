"""The planner's process: reads questions, writes answers, and ends when nobody can ask any more.

    python -m corral.control.planner_child

Frames on standard input and output: eight bytes of length, the kind of the value, a newline, its JSON. It
keeps nothing that is not in the database; whoever asks loads it again when it is gone.
"""

import contextlib
import gc
import signal
import struct
import sys
from pathlib import Path
from typing import BinaryIO

from corral.core.plans import Plan
from corral.core.refusals import Refusal
from corral.scheduling.live.live_planner import (
    Changes,
    Explain,
    LivePlanner,
    Load,
    MakePlan,
    Probe,
    ProbeResult,
    Question,
)
from corral.scheduling.validate.snapshot import read_value, write_value

QUESTIONS: dict[str, type] = {form.__name__: form for form in (Load, Changes, MakePlan, Probe, Explain)}
ANSWERS: dict[str, type] = {form.__name__: form for form in (Plan, ProbeResult)}
NOTHING = "nothing"
REFUSED = "refused"
LENGTH = struct.Struct(">Q")
_DIES_FIRST = "900"


def frame(kind: str, body: bytes) -> bytes:
    head = kind.encode() + b"\n"
    return LENGTH.pack(len(head) + len(body)) + head + body


def unframe(content: bytes) -> tuple[str, bytes]:
    kind, _, body = content.partition(b"\n")
    return kind.decode(), body


def main() -> None:
    # Ctrl-C in a terminal reaches the whole group; the one who asks decides when this ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # When that one is gone, the answer is for nobody: no trace of it on the terminal.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    _die_first()
    planner = LivePlanner()
    while (content := _read(sys.stdin.buffer)) is not None:
        kind, body = unframe(content)
        question: Question = read_value(body, QUESTIONS[kind])
        sys.stdout.buffer.write(_answer(planner, question))
        sys.stdout.buffer.flush()
        if isinstance(question, Load):
            # What was loaded stays: looking through it for garbage again and again would cost the most.
            gc.collect()
            gc.freeze()


def _die_first() -> None:
    """When memory runs out, the kernel ends this process: it holds nothing that is not in the database."""
    with contextlib.suppress(OSError):  # not on Linux, or not allowed: the kernel chooses as it likes
        Path("/proc/self/oom_score_adj").write_text(_DIES_FIRST)


def _answer(planner: LivePlanner, question: Question) -> bytes:
    try:
        answer = planner.answer(question)
    except Refusal as refusal:
        return frame(REFUSED, f"{refusal.detail} {refusal.remedy}".encode())
    if answer is None:
        return frame(NOTHING, b"")
    return frame(type(answer).__name__, write_value(answer))


def _read(source: BinaryIO) -> bytes | None:
    head = source.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    content = source.read(length)
    return content if len(content) == length else None


if __name__ == "__main__":
    main()
