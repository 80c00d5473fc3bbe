"""`corral exec`: a command inside running work."""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from corral_sdk import Execution, LostError

from corral.cli.connection import connect
from corral.cli.frame import new_app
from corral.cli.refusals import CommandError
from corral.cli.work_names import find_workload

app = new_app()


@app.command("exec", context_settings={"allow_interspersed_args": False})
def execute(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    command: Annotated[list[str], typer.Argument(metavar="[--] COMMAND…", help="Command to run.")],
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Pass standard input to the command.")
    ] = False,
    terminal: Annotated[bool, typer.Option("--tty", "-t", help="Give the command a terminal.")] = False,
    replica: Annotated[int, typer.Option(min=0, metavar="N", help="Which replica.")] = 0,
) -> None:
    """Run a command inside running work, under its limits, and exit with its exit code.

    A shell in it: corral exec -it WORK -- bash
    """
    if terminal and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError("There is no terminal here.", remedy="Leave out -t.")
    words = command[1:] if command[0] == "--" else command
    if not words:
        raise CommandError("There is no command to run.", remedy="Name a command: corral exec WORK -- ls")
    client = connect()
    work = find_workload(client, workload)
    size = _size() if terminal else None
    with client.workloads.execute(work, words, replica=replica, terminal=size) as execution:
        try:
            with _terminal(execution) if terminal else _nothing():
                if interactive:
                    threading.Thread(target=_pass_on_input, args=(execution,), daemon=True).start()
                else:
                    execution.close_input()
                _show_output(execution)
        except LostError as error:
            raise CommandError(f"The connection was lost: {error}.", remedy="Try again.") from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    raise typer.Exit(execution.exit_code or 0)


def _show_output(execution: Execution) -> None:
    for stream, data in execution:
        out = sys.stderr.buffer if stream == "error" else sys.stdout.buffer
        out.write(data)
        out.flush()


def _pass_on_input(execution: Execution) -> None:
    try:
        while data := os.read(sys.stdin.fileno(), 65536):
            execution.write(data)
        execution.close_input()
    except OSError:
        pass  # the command has ended; the other thread tells of it


@contextmanager
def _terminal(execution: Execution) -> Iterator[None]:
    """Keys go to the command as they are typed, and it knows the size of the window."""
    import termios
    import tty

    keyboard = sys.stdin.fileno()
    before = termios.tcgetattr(keyboard)
    resized = signal.signal(signal.SIGWINCH, lambda *_: execution.resize(*_size()))
    try:
        tty.setraw(keyboard, termios.TCSADRAIN)  # what was typed ahead is not lost
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, resized)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def _size() -> tuple[int, int]:
    columns, rows = shutil.get_terminal_size()
    return max(1, rows), max(1, columns)
