"""A gateway between real sockets: a workload on loopback that answers as it is told, and raw clients."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from corral.gateway.broker import Admission, AppState, BrokerUnavailableError, Lent, NotAdmittedError
from corral.gateway.front import Front
from corral.gateway.grants import Grant, GrantCookies
from corral.gateway.names import AppName, AppNames
from corral.gateway.router import Router
from corral.net.connections import Acceptor, Connection, ConnectionSlots, Limits

WORKLOAD = "w" + "0" * 22
OTHER = "w" + "1" * 22
CONSOLE = "http://127.0.0.1:7000"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Desk:
    """The API as the gateway sees it: tickets, and who may enter what."""

    workload_port: int
    tickets: dict[str, AppName] = field(default_factory=dict)
    shut_out: set[str] = field(default_factory=set)
    state: AppState = AppState.READY
    read_only: bool = False
    is_down: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()
    asked: int = 0
    connections: int = 0
    given_back: int = 0

    async def redeem(self, ticket: str, name: AppName) -> Grant:
        self._answers()
        if self.tickets.get(ticket) != name:
            raise NotAdmittedError
        del self.tickets[ticket]
        return Grant("u1", "s1", name, int(time.time()))

    async def admit(self, grant: Grant) -> Admission:
        self._answers()
        self.asked += 1
        if grant.user_id in self.shut_out:
            raise NotAdmittedError
        return Admission(
            self.state,
            "nb",
            run="r1",
            port=self.workload_port,
            read_only=self.read_only,
            headers=self.headers,
        )

    async def connect(self, grant: Grant, run: str, port: int) -> socket.socket:
        self._answers()
        self.connections += 1
        connected = socket.socket()
        connected.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(connected, ("127.0.0.1", port))
        except BaseException:
            connected.close()
            raise

        def give_back() -> None:
            self.given_back += 1

        return Lent(connected, give_back)

    async def standing(self, grants: list[Grant]) -> list[bool]:
        self._answers()
        return [each.user_id not in self.shut_out for each in grants]

    def _answers(self) -> None:
        if self.is_down:
            raise BrokerUnavailableError


@dataclass
class Street:
    """Both sides of one gateway."""

    port: int
    desk: Desk
    router: Router
    cookies: GrantCookies
    names: AppNames
    requests: list[bytes]  # heads as the workload read them

    @property
    def host(self) -> str:
        return f"{WORKLOAD}.{self.names.domain}"

    @property
    def origin(self) -> str:
        return self.names.origin(AppName(WORKLOAD))

    def cookie(self, user: str = "u1", name: AppName | None = None, age: int = 0) -> str:
        grant = Grant(user, "s1", name or AppName(WORKLOAD), int(time.time()) - age)
        return self.cookies.write(grant).decode().partition(";")[0]

    def head(
        self, start: str = "GET / HTTP/1.1", *lines: str, cookie: str | None = None, keep: bool = False
    ) -> bytes:
        """A request of somebody who is inside: the last one on its connection, unless it is kept."""
        shown = [start, f"Host: {self.host}", f"Cookie: {cookie or self.cookie()}", *lines]
        if not (keep or any(each.startswith("Connection:") for each in lines)):
            shown.append("Connection: close")
        return "\r\n".join(shown).encode() + b"\r\n\r\n"

    async def send(self, data: bytes) -> bytes:
        """What comes back until the gateway closes the connection, or is silent."""
        reader, writer = await self.dial()
        try:
            writer.write(data)
            return await read_all(reader)
        finally:
            writer.close()

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port)


async def read_all(reader: asyncio.StreamReader, silence: float = 0.5) -> bytes:
    """Everything until the other side closes, or says nothing for a while."""
    got = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while data := await asyncio.wait_for(reader.read(65536), silence if got else 5.0):
            got += data
    return got


@contextlib.asynccontextmanager
async def street(answer: Answer, limits: Limits | None = None) -> AsyncIterator[Street]:
    """The workload gives each request, head first read, to `answer`."""
    heads: list[bytes] = []

    serving: set[asyncio.Task[None]] = set()
    fronts: list[Front] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                await answer(reader, writer)
                await writer.drain()
        writer.close()

    def front(connection: Connection) -> Front:
        fronts.append(Front(router, connection))
        return fronts[-1]

    workload = await asyncio.start_server(serve, "127.0.0.1", 0)
    desk = Desk(workload.sockets[0].getsockname()[1])
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    names = AppNames("http", f"localhost:{port}")
    cookies = GrantCookies(b"k" * 32, secure=False)
    router = Router(names, CONSOLE, cookies, desk)
    slots = ConnectionSlots(limits or Limits())
    gateway = Acceptor(listener, slots, front, None)
    try:
        yield Street(port, desk, router, cookies, names, heads)
    finally:
        gateway.close()
        await gateway.wait_closed()
        listener.close()
        for each in fronts:
            each.transport.abort()
        router.pool.close()
        workload.close()
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await asyncio.sleep(0)  # transports close in the loop's next turn


def says(text: bytes, *more: bytes) -> Answer:
    """A workload that gives the same short answer to everything."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (b"HTTP/1.1 200 OK", b"content-length: %d" % len(text), *more)
        writer.write(b"\r\n".join(lines) + b"\r\n\r\n" + text)

    return answer
