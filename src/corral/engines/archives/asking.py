"""Has an archive checked or unpacked by a limited process. It blocks: call it in a thread."""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import corral
from corral.engines.archives import child
from corral.engines.archives.limits import USUAL, Archive, BadArchive, Contents, Limits, UnreadableArchive

NOBODY = 65534
_MOST_ANSWER_BYTES = 64 * 1024


def check(archive: Archive, limits: Limits = USUAL) -> Contents:
    """Looks at every entry; raises `BadArchive`."""
    return _ask(archive, limits, target=None, uid=NOBODY)


def unpack(archive: Archive, target: int, *, uid: int, most_bytes: int, limits: Limits = USUAL) -> Contents:
    """Into the open directory `target`, as `uid` where we are root; raises `BadArchive` and `OSError`."""
    bounded = replace(limits, unpacked_bytes=min(most_bytes, limits.unpacked_bytes))
    return _ask(archive, bounded, target=target, uid=uid)


def _ask(archive: Archive, limits: Limits, *, target: int | None, uid: int) -> Contents:
    request = {
        "form": archive.form,
        "limits": asdict(limits),
        "target": target,
        "uid": uid,
        "parent": os.getpid(),
    }
    sources = Path(corral.__file__).parents[1]
    with archive.path.open("rb") as file, tempfile.TemporaryFile() as answer_file:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-I", "-S", str(child.__file__), str(sources), json.dumps(request)],
            stdin=file,
            stdout=answer_file,
            env={"LC_ALL": "C.UTF-8"},  # our own environment may hold secrets
            pass_fds=() if target is None else (target,),
            start_new_session=True,
        )
        try:
            process.wait(limits.wall_seconds)
        except subprocess.TimeoutExpired:
            pass  # it is ended below
        finally:
            process.kill()
            process.wait()
        answer_file.seek(0)
        return _understood(answer_file.read(_MOST_ANSWER_BYTES), limits)


def _understood(told: bytes, limits: Limits) -> Contents:
    try:
        answer: dict[str, Any] = json.loads(told)
    except ValueError:
        answer = {"exhausted": True}  # it was ended before it could say so
    if "refused" in answer:
        raise (UnreadableArchive if answer["unreadable"] else BadArchive)(answer["refused"])
    if "errno" in answer:
        raise OSError(answer["errno"], os.strerror(answer["errno"]))
    if "exhausted" in answer:
        raise BadArchive(
            f"Reading it was given up: it needs more than {limits.memory_bytes // 2**20} MiB of memory"
            f" or {limits.cpu_seconds} s."
        )
    return Contents(answer["entries"], answer["unpacked_bytes"])
