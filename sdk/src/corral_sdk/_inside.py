"""For programs that Corral runs: tell it how the work goes, and hear when it is time to go.

    import corral_sdk

    start = 0
    if corral_sdk.resuming():
        start = load(corral_sdk.resume_path())
    for step in range(start, 1000):
        loss = train(step)
        corral_sdk.report(step=step, loss=loss)
        if step % 100 == 0 or corral_sdk.leaving():
            save("last.json")
            corral_sdk.checkpoint("last.json", step=step)
        if corral_sdk.leaving():
            break

Outside of Corral all of it does nothing, and says so once. Nothing here ends a program because Corral cannot
be reached: what cannot be told is said once on standard error, and the work goes on.
"""

import contextlib
import json
import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["checkpoint", "done", "leaving", "on_leave", "report", "resume_path", "resuming"]

MOST_FIELDS = 64
EXIT_CODE_OF_LEAVING = 128 + signal.SIGTERM
_ANSWER_SECONDS = 10.0
_MOST_ANSWER_BYTES = 65536

# Where the program began; it may go elsewhere later.
_BEGAN_IN = Path.cwd()


def report(**values: object) -> None:
    """Tells Corral how the work goes: `report(step=10, loss=0.5)`. Numbers, texts and truth values; what has
    an `item()`, as values of NumPy and PyTorch do, is asked for it."""
    if len(values) > MOST_FIELDS:
        raise ValueError(f"a report has at most {MOST_FIELDS} values; this one has {len(values)}")
    _tell("report", {name: _plain(name, value) for name, value in values.items()})


def checkpoint(path: str | os.PathLike[str], *, step: int | None = None) -> None:
    """Says that what was done so far is safe in this file or directory. Call it after it is written.

    The path is remembered beside the work, so that `resume_path` finds it in the next attempt.
    """
    body: dict[str, Any] = {"path": os.fspath(path)} | ({} if step is None else {"step": step})
    if _is_inside():
        _remember(Path(_BEGAN_IN, path).resolve())
    _tell("checkpoint", body)


def done() -> None:
    """Says that the work is whole: however the program ends now, and even if it is told to go, it counts as
    succeeded."""
    _tell("done", {})


def resuming() -> bool:
    """Whether this work ran before and should go on where it stopped."""
    return os.environ.get("CORRAL_RESUME") == "1"


def resume_path() -> Path | None:
    """What this process, or else the first one of the work, last gave to `checkpoint`; None if there is
    nothing to go on from."""
    if not resuming():
        return None
    for rank in (_rank(), "0"):
        try:
            path = Path(json.loads(_note(rank).read_text())["path"])
        except FileNotFoundError:
            continue
        if path.exists():
            return path
    return None


def leaving() -> bool:
    """True once Corral has said that it is time to go: save, and end. Call it first before the work begins:
    until then SIGTERM ends the program at once."""
    _listen()
    return _told.is_set()


def on_leave(callback: Callable[[], object]) -> None:
    """Calls `callback` when it is time to go, and ends the program afterwards. It runs in the main thread,
    between two steps of the program."""
    _callbacks.append(callback)
    _listen()


_told = threading.Event()
_callbacks: list[Callable[[], object]] = []
_listening = False
_said: set[str] = set()


def _listen() -> None:
    global _listening
    if _listening:
        return
    if threading.current_thread() is not threading.main_thread():
        _say_once("leaving() and on_leave() must be called first by the main thread; SIGTERM is not heard.")
        return
    signal.signal(signal.SIGTERM, _hear)
    _listening = True


def _hear(_number: int, _frame: FrameType | None) -> None:
    if _told.is_set():
        return
    _told.set()
    if _callbacks:
        for callback in _callbacks:
            callback()
        raise SystemExit(EXIT_CODE_OF_LEAVING)


class _Line:
    """The connection to Corral, shared by the threads of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._speaker = 0
        self._socket: socket.socket | None = None
        self._process = 0

    def ask(self, path: str, message: bytes) -> dict[str, Any]:
        me = threading.get_ident()
        if self._speaker == me:
            # What runs on a signal has interrupted itself in the middle of a sentence.
            with _connect(path) as connection:
                return _exchange(connection, message)
        with self._lock:
            self._speaker = me
            try:
                return self._ask(path, message)
            except OSError:
                self._hang_up()
                raise
            finally:
                self._speaker = 0

    def _ask(self, path: str, message: bytes) -> dict[str, Any]:
        if self._process != os.getpid():
            # Of a parent's connection only the parent may speak.
            self._socket, self._process = None, os.getpid()
        if self._socket is not None:
            try:
                return _exchange(self._socket, message)
            except ConnectionError:
                self._hang_up()  # it was cut while nothing was said
        self._socket = _connect(path)
        return _exchange(self._socket, message)

    def _hang_up(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _connect(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_ANSWER_SECONDS)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def _exchange(connection: socket.socket, message: bytes) -> dict[str, Any]:
    connection.sendall(message)
    answer = b""
    while not answer.endswith(b"\n"):
        piece = connection.recv(4096)
        if not piece or len(answer) > _MOST_ANSWER_BYTES:
            raise ConnectionResetError("Corral hung up")
        answer += piece
    said: dict[str, Any] = json.loads(answer)
    return said


_line = _Line()


def _tell(kind: str, body: dict[str, Any]) -> None:
    if not _is_inside():
        _say_once("this program does not run inside Corral; what it reports is not kept.")
        return
    message = json.dumps({"kind": kind, "body": body}).encode() + b"\n"
    try:
        answer = _line.ask(os.environ["CORRAL_SOCKET"], message)
    except (OSError, ValueError) as error:
        _say_once(f"Corral did not hear the {kind}: {error}.")
        return
    if not answer.get("ok"):
        _say_once(f"Corral did not take the {kind}: {answer.get('error')}.")


def _is_inside() -> bool:
    return bool(os.environ.get("CORRAL_SOCKET"))


def _say_once(words: str) -> None:
    if words not in _said:
        _said.add(words)
        print(f"corral: {words}", file=sys.stderr, flush=True)


def _plain(name: str, value: object) -> str | int | float | bool | None:
    if not isinstance(value, str | int | float | bool | None) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no numbers for these, and they are the ones to be seen
    if isinstance(value, str | int | float | bool | None):
        return value
    raise TypeError(f"{name} is a {type(value).__name__}; report numbers, texts or truth values")


def _rank() -> str:
    return os.environ.get("RANK") or "0"


def _note(rank: str) -> Path:
    return Path(os.environ.get("CORRAL_WORKSPACE") or _BEGAN_IN, ".corral", f"checkpoint-{rank}.json")


def _remember(path: Path) -> None:
    note = _note(_rank())
    try:
        note.parent.mkdir(exist_ok=True)
        draft = note.with_suffix(f".{os.getpid()}")
        draft.write_text(json.dumps({"path": str(path)}))
        draft.replace(note)
    except OSError as error:
        with contextlib.suppress(OSError):
            note.unlink()  # an older path would be taken for this one
        _say_once(f"the checkpoint's path could not be noted: {error}.")
