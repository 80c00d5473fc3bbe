"""`corral port-forward`: ports of running work on this machine."""

import socket
import sys
import threading
from typing import Annotated, NamedTuple

import typer
from corral_sdk import Client, Connection, CorralError

from corral.cli.connection import connect
from corral.cli.frame import new_app
from corral.cli.output import say, warn
from corral.cli.refusals import CommandError
from corral.cli.work_names import find_workload

app = new_app()

_PIECE = 65536
_BACKLOG = 64


class _Ports(NamedTuple):
    local: int
    remote: int


@app.command("port-forward")
def port_forward(
    workload: Annotated[str, typer.Argument(metavar="WORK", help="Name, id or the beginning of an id.")],
    ports: Annotated[
        list[str],
        typer.Argument(metavar="[LOCAL:]REMOTE…", help="8888, 9000:8888, or :8888 for any free local port."),
    ],
    replica: Annotated[int, typer.Option(min=0, metavar="N", help="Which replica.")] = 0,
) -> None:
    """Forward ports of 127.0.0.1 to running work, until Ctrl-C."""
    chosen = [_read(text) for text in ports]
    client = connect()
    seen = client.workloads.get(find_workload(client, workload))
    if seen.state not in ("starting", "running"):
        raise CommandError(
            f"{seen.name} is {seen.state}: nothing listens.", remedy="See what runs: corral ps"
        )
    for each in chosen:
        listener = _listen(each.local)
        threading.Thread(
            target=_accept, args=(client, seen.id, each.remote, replica, listener), daemon=True
        ).start()
        say(f"127.0.0.1:{listener.getsockname()[1]} leads to port {each.remote} of {seen.name}.")
    sys.stdout.flush()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        raise typer.Exit(0) from None


def _accept(client: Client, work: str, port: int, replica: int, listener: socket.socket) -> None:
    while True:
        caller, _ = listener.accept()
        threading.Thread(target=_carry, args=(client, work, port, replica, caller), daemon=True).start()


def _carry(client: Client, work: str, port: int, replica: int, caller: socket.socket) -> None:
    with caller:
        try:
            connection = client.workloads.connect(work, port, replica=replica)
        except CorralError as error:
            warn(str(error))
            return
        sending = threading.Thread(target=_send, args=(caller, connection), daemon=True)
        sending.start()
        try:
            while data := connection.read():
                caller.sendall(data)
            caller.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # whoever called has gone
        finally:
            connection.hang_up()
            sending.join(5)
            connection.close()


def _send(caller: socket.socket, connection: Connection) -> None:
    try:
        while data := caller.recv(_PIECE):
            connection.write(data)
        connection.close_input()
    except OSError:
        pass  # one of the two has gone; the other thread ends both


def _listen(port: int) -> socket.socket:
    try:
        listener = socket.create_server(("127.0.0.1", port), backlog=_BACKLOG)
    except OSError as error:
        raise CommandError(
            f"Port {port} of this machine cannot be used: {error.strerror}.",
            remedy="Choose another: 9000:8888, or :8888 for any free one.",
        ) from None
    return listener


def _read(text: str) -> _Ports:
    local, colon, remote = text.rpartition(":")
    numbers = [remote if not colon else local or "0", remote]
    if not all(each.isascii() and each.isdigit() and int(each) < 65536 for each in numbers) or remote == "0":
        raise CommandError(f"{text!r} names no ports.", remedy="Write 8888, 9000:8888 or :8888.")
    return _Ports(int(numbers[0]), int(numbers[1]))
