"""Replicas that start together: each sends a number to the first, which sends the sum back to all."""

import os
import socket
import time

RANK, WORLD_SIZE = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
ADDRESS = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "29500")))
PATIENCE_SECONDS = 60.0


def gather(number: int) -> int:
    """As the first: waits for everyone's number, and tells everyone the sum."""
    with socket.create_server(ADDRESS) as server:
        server.settimeout(PATIENCE_SECONDS)
        others = [server.accept()[0] for _ in range(WORLD_SIZE - 1)]
    total = number + sum(int(read_line(each)) for each in others)
    for each in others:
        each.sendall(f"{total}\n".encode())
        each.close()
    return total


def send(number: int) -> int:
    """As one of the others: tells its number, and hears the sum."""
    until = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            connection = socket.create_connection(ADDRESS, timeout=PATIENCE_SECONDS)
            break
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)  # the first has not begun to listen
    with connection:
        connection.sendall(f"{number}\n".encode())
        return int(read_line(connection))


def read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        piece = connection.recv(64)
        if not piece:
            raise ConnectionError("the other side left")
        line += piece
    return line


mine = (RANK + 1) ** 2
print(f"replica {RANK} of {WORLD_SIZE}: I have {mine}", flush=True)
print(f"replica {RANK}: all of us have {gather(mine) if RANK == 0 else send(mine)}", flush=True)
