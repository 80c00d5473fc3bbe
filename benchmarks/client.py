"""A small HTTP client that keeps its connections: the server should be what is busy, not this."""

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CONNECTIONS = 8
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


@dataclass(frozen=True)
class Request:
    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    """`000000` in it becomes the number of the turn, for what must have a name of its own."""

    def encoded(self, host: str) -> bytes:
        lines = [f"{self.method} {self.target} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        if self.body:
            lines += ["Content-Type: application/json", f"Content-Length: {len(self.body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + self.body


@dataclass(frozen=True)
class Measured:
    requests: int
    wall_seconds: float
    cpu_seconds: float

    @property
    def per_second(self) -> float:
        return self.requests / self.wall_seconds

    @property
    def cpu_microseconds(self) -> float:
        return self.cpu_seconds / self.requests * 1e6


async def measure(port: int, pid: int, request: Request, count: int, expected: int) -> Measured:
    """Sends the request `count` times over several connections; fails on any other status than expected."""
    payload = request.encoded(f"127.0.0.1:{port}")
    turns = iter(range(count))
    connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CONNECTIONS)]
    try:
        cpu, wall = cpu_seconds(pid), time.perf_counter()
        await asyncio.gather(*(_send(*connection, payload, turns, expected) for connection in connections))
        return Measured(count, time.perf_counter() - wall, cpu_seconds(pid) - cpu)
    finally:
        for _, writer in connections:
            writer.close()
            await writer.wait_closed()


async def send_once(port: int, request: Request) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request.encoded(f"127.0.0.1:{port}"))
        return await _answer(reader)
    finally:
        writer.close()
        await writer.wait_closed()


async def _send(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    payload: bytes,
    turns: Iterator[int],
    expected: int,
) -> None:
    numbered = b"000000" in payload
    for turn in turns:
        writer.write(payload.replace(b"000000", b"%06d" % turn) if numbered else payload)
        status, body = await _answer(reader)
        if status != expected:
            raise RuntimeError(f"the server answered {status}: {body[:500].decode(errors='replace')}")


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = _LENGTH.search(head)
    body = await reader.readexactly(int(length[1])) if length else b""
    return int(head[9:12]), body


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads of the process, to the nanosecond."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9
