"""The gateway child of `corral up`. How it is started and what it reports is in `corral.server.parent`.

It reads nothing of the settings but the part about apps, and imports nothing heavy.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from corral.gateway.broker import BrokerUnavailableError
from corral.gateway.front import Front
from corral.gateway.grants import GrantCookies
from corral.gateway.names import AppNames
from corral.gateway.remote_broker import RemoteBroker
from corral.gateway.router import Router
from corral.net.connections import Acceptor, Connection, ConnectionSlots, Limits
from corral.net.limits import open_files
from corral.net.tls import server_context

_SHUT_OUT_SECONDS = 2.0
_KEY_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Given:
    """What the parent hands over."""

    settings: dict[str, Any]
    listener: socket.socket
    life: int
    ready: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="corral.gateway.child")
    parser.add_argument("name", choices=["gateway"])
    for name in ("settings-fd", "ready-fd", "life-fd", "listen-fd"):
        parser.add_argument(f"--{name}", type=int, required=True)
    read = parser.parse_args()
    settings = json.loads(os.pread(read.settings_fd, os.fstat(read.settings_fd).st_size, 0))
    given = Given(settings, socket.socket(fileno=read.listen_fd), read.life_fd, read.ready_fd)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(given))


async def serve(given: Given) -> None:
    apps = given.settings["apps"]
    stopping = _stop_with_parent(given.life)
    broker = RemoteBroker(Path(given.settings["home"]))
    key = await _key(broker, stopping)
    if key is None:
        return
    names = AppNames(apps["scheme"], apps["domain"])
    secure = apps["scheme"] == "https"
    router = Router(names, given.settings["public_url"], GrantCookies(key, secure=secure), broker)
    limits = Limits(**apps["limits"]).within(open_files())
    slots = ConnectionSlots(limits)

    def speak(connection: Connection) -> Front:
        return Front(router, connection)

    acceptor = Acceptor(given.listener, slots, speak, _tls(apps))
    with os.fdopen(given.ready, "w") as report:
        report.write(json.dumps({"ready": True}) + "\n")
    watching = asyncio.create_task(_watch(router))
    await stopping.wait()
    watching.cancel()
    acceptor.close()
    for connection in tuple(slots.open):
        if connection.speaker is not None:
            connection.speaker.end()
    router.pool.close()
    broker.close()


async def _key(broker: RemoteBroker, stopping: asyncio.Event) -> bytes | None:
    """From the API, which may still be starting."""
    while not stopping.is_set():
        with contextlib.suppress(BrokerUnavailableError):
            return await broker.key()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), _KEY_SECONDS)
    return None


async def _watch(router: Router) -> None:
    while True:
        await asyncio.sleep(_SHUT_OUT_SECONDS)
        await router.shut_out()


def _stop_with_parent(life: int) -> asyncio.Event:
    loop = asyncio.get_running_loop()
    stopping = asyncio.Event()

    def stop() -> None:
        stopping.set()
        with contextlib.suppress(ValueError):
            loop.remove_reader(life)

    loop.add_reader(life, stop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopping


def _tls(apps: dict[str, Any]) -> ssl.SSLContext | None:
    if not apps["certificate"]:
        return None
    return server_context(Path(apps["certificate"]), Path(apps["key"]))


if __name__ == "__main__":
    main()
