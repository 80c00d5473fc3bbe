"""The api child of `corral up`: prepares the data directory, serves until told to stop.

How it is started and what it reports is written down in `corral.server.parent`.
"""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import structlog
import uvicorn
import uvloop
from asyncpg import PostgresError
from sqlalchemy.exc import DBAPIError

from corral.accelerators.machine import detect_machine
from corral.api.callers import ApiContext
from corral.api.parts import part
from corral.api.sockets import LARGEST_MESSAGE
from corral.hosts.service import announce
from corral.identity.bootstrap import (
    ADMINISTRATOR,
    first_password_pending,
    found_installation,
    is_new,
    renew_local_token,
    renew_presets,
    super_administrator,
)
from corral.identity.login import new_login_link
from corral.identity.passwords import Passwords
from corral.net.connections import Acceptor, Connection, ConnectionSlots, Limits
from corral.net.limits import open_files
from corral.net.tls import TlsError, server_context
from corral.queues.service import ensure_organisation_queues
from corral.server.app import Parts, ThisHost, create_app, trusted_proxies
from corral.server.handover import take_over
from corral.server.logs import set_up_logs
from corral.server.machine_zone import MachineZone
from corral.server.private_files import write_private
from corral.server.protocol import Http
from corral.server.settings import Settings
from corral.store.archive import BackupError
from corral.store.database import Database, Transaction
from corral.store.fingerprint import match_fingerprint, read_fingerprint
from corral.store.keyring import FILE_NAME as KEY_FILE
from corral.store.keyring import Keyring, KeyringError
from corral.store.leadership import end_all
from corral.store.migrate import HEAD, SchemaError, current_revision, upgrade
from corral.usage.samples.sampler import SamplesError
from corral.zones.zones import ensure_local_zone

STREAM_GRACE_SECONDS = 5
_APPLICATION_FAILED = 3
# The parent gives up on a start that takes long; a large database may.
UPGRADE_SECONDS = 6 * 3600

log = structlog.get_logger("corral.server")

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What the terminal tells after the start."""

    login_link: str | None
    admin_name: str
    password_file: Path | None


class _Server(uvicorn.Server):
    """Uvicorn that takes connections as we do, says when it serves, and leaves the signals to us."""

    def __init__(self, config: uvicorn.Config, places: ConnectionSlots, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._places = places
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.lifespan.startup()
        if self.lifespan.should_exit:
            sys.exit(_APPLICATION_FAILED)
        acceptors = [Acceptor(one, self._places, self._speak, self.config.ssl) for one in sockets or ()]
        self.servers = cast("list[asyncio.base_events.Server]", acceptors)
        self.started = True
        self._ready()

    def _speak(self, connection: Connection) -> Http:
        return Http(self.config, self.server_state, self.lifespan.state, connection=connection)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class CannotStartError(Exception):
    def __init__(self, error: str, remedy: str) -> None:
        super().__init__(error)
        self.remedy = remedy


def main() -> None:
    arguments = _arguments()
    settings = take_over(arguments.settings_fd)
    with os.fdopen(arguments.ready_fd, "w") as ready:

        def report(line: dict[str, Any]) -> None:
            ready.write(json.dumps(line) + "\n")
            ready.flush()

        try:
            _open_log(settings)
            listener = socket.socket(fileno=arguments.listen_fd)
            # uvicorn's own choice of a loop counts only where it makes the loop itself.
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(_serve(settings, listener, arguments.life_fd, report, ready.close))
        except CannotStartError as error:
            report({"error": str(error), "remedy": error.remedy})
            sys.exit(1)


def _open_log(settings: Settings) -> None:
    try:
        set_up_logs(settings.log_level, settings.log_format, file=settings.log_path)
    except OSError as error:
        raise CannotStartError(
            f"The log file {settings.log_path} cannot be written: {error.strerror or error}.",
            "Make it writable, or send the log to the terminal: log_to = terminal.",
        ) from error


def open_database(settings: Settings) -> Database:
    return Database(settings.database_url_resolved, bounds=settings.person_bounds)


async def _serve(
    settings: Settings,
    listener: socket.socket,
    life_fd: int,
    report: Report,
    close_report: Callable[[], None],
) -> None:
    tls = _open_tls(settings)
    await asyncio.to_thread(_migrate, settings, report)
    database = open_database(settings)
    try:
        keyring = await open_keyring(settings, database)
    except CannotStartError:
        await database.close()
        raise
    passwords = Passwords()
    machine = await asyncio.to_thread(detect_machine)
    here = MachineZone(settings, machine, database)
    host = ThisHost(here.identity, here.host)
    try:
        app = create_app(Parts(settings, database, keyring, machine, passwords, here.open_engine, host))
    except SamplesError as error:
        raise CannotStartError(f"{error}.", "Samples are in a file beside the database.") from error
    try:
        prepared = await prepare(settings, database, passwords, here)

        def tell() -> None:
            report(
                {
                    "ready": True,
                    "console": settings.public_url,
                    "login_link": prepared.login_link,
                    "admin_name": prepared.admin_name,
                    "password_file": str(prepared.password_file) if prepared.password_file else None,
                    "machine": machine.as_dict(),
                    "database": _database_words(settings),
                }
            )
            close_report()

        places = ConnectionSlots(connection_limits(settings).within(open_files()), trusted_proxies(settings))
        server = _Server(_uvicorn(app, tls), places, tell)
        _stop_with_parent(server, life_fd, part(app, ApiContext).stopping)
        await server.serve([listener])
    finally:
        await here.close()
        passwords.close()
        await database.close()


async def prepare(
    settings: Settings, database: Database, passwords: Passwords, here: MachineZone
) -> Prepared:
    """Makes what is missing: first administrator, presets, zone, queues, local token, login link."""
    if await database.read(is_new):
        password = secrets.token_urlsafe(15)
        hashed = await passwords.hash(password)
        # The file first: a crash in between leaves a password that opens nothing, and the next start
        # replaces it; the other way round nobody would know the password.
        write_private(settings.admin_password_path, password)
        if not await database.write(found_installation, hashed):
            settings.admin_password_path.unlink()  # another host was first

    def renew(transaction: Transaction) -> tuple[str, str, str, bool]:
        if settings.database_kind == "sqlite":
            # The data directory is locked by this process: whoever held a leadership is gone.
            end_all(transaction)
        renew_presets(transaction)
        announce(transaction, here.identity, here.host, settings.announced_url)
        ensure_local_zone(transaction, here.identity, here.host)
        ensure_organisation_queues(transaction)
        user_id, name = super_administrator(transaction)
        token = renew_local_token(transaction, here.identity)
        return token, user_id, name, first_password_pending(transaction, user_id)

    token, user_id, name, pending = await database.write(renew)
    write_private(settings.local_token_path, token)
    if not pending:
        settings.admin_password_path.unlink(missing_ok=True)
        return Prepared(None, name, None)
    lifetime = timedelta(minutes=settings.login_link_minutes)
    link = await database.write(new_login_link, user_id, None, lifetime, settings.public_url)
    password_file = settings.admin_password_path if name == ADMINISTRATOR else None
    return Prepared(link.url, name, password_file if password_file and password_file.exists() else None)


def _migrate(settings: Settings, report: Report) -> None:
    url = settings.database_url_resolved
    try:
        before = current_revision(url)
        if before not in {None, HEAD}:
            report({"progress": "Backing up the database before its upgrade", "seconds": UPGRADE_SECONDS})
            from corral.store.backup import backup_before_upgrade, forget_old_upgrades

            backup_before_upgrade(url, settings.home)
        if before != HEAD:
            doing = "Making the database" if before is None else "Upgrading the database"
            report({"progress": doing, "seconds": UPGRADE_SECONDS})
            upgrade(url)
            if before is not None:
                forget_old_upgrades(settings.home)
    except BackupError as error:
        raise CannotStartError(error.detail, error.remedy) from error
    except SchemaError as error:
        raise CannotStartError(str(error), "Start the newer version, or restore a backup.") from error
    except (OSError, DBAPIError, PostgresError) as error:
        cause = str(getattr(error, "orig", None) or error).strip().splitlines() or [type(error).__name__]
        raise CannotStartError(
            f"The database cannot be used: {cause[0]}.",
            "Check database_url (corral config show), and that the server runs and lets you in.",
        ) from error


async def open_keyring(settings: Settings, database: Database) -> Keyring:
    """The keys of this data directory, if they are those of the database."""
    path = settings.home / KEY_FILE
    if not path.exists() and await database.read(read_fingerprint) is not None:
        raise CannotStartError(
            "This data directory has no keys, and the database is sealed with some.",
            f"If another host uses this database, join it: corral join. Else restore {path} from a backup.",
        )
    try:
        keyring = Keyring.open(path)
    except KeyringError as error:
        raise CannotStartError(f"{error}.", "Secrets in the database cannot be read without it.") from error
    if not await database.write(match_fingerprint, keyring.fingerprints, keyring.newest):
        raise CannotStartError(
            f"The keys in {path} are not those that the database is sealed with.",
            "Copy the file from a host of this Corral, or restore it from a backup. If the keys are lost, "
            "corral db forget-keys lets this Corral start without what they sealed.",
        )
    return keyring


def _open_tls(settings: Settings) -> ssl.SSLContext | None:
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    try:
        return server_context(settings.tls_certificate, settings.tls_key)
    except TlsError as error:
        raise CannotStartError(str(error), error.remedy) from error


def _uvicorn(app: Any, tls: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=LARGEST_MESSAGE,
        ws_per_message_deflate=False,  # costs more than it saves, and mixes what must not be mixed
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,  # corral.server.front reads them, from trusted proxies only
        ssl_context_factory=(lambda *_: tls) if tls else None,
        timeout_graceful_shutdown=STREAM_GRACE_SECONDS,
    )


def connection_limits(settings: Settings) -> Limits:
    return Limits(
        settings.connections,
        settings.connections_per_address,
        settings.header_seconds,
        settings.stalled_seconds,
    )


def _stop_with_parent(server: uvicorn.Server, life_fd: int, stopping: asyncio.Event) -> None:
    """Ends on SIGTERM, and when the parent is gone, whatever took it."""
    loop = asyncio.get_running_loop()

    def stop() -> None:
        stopping.set()  # open event streams end now instead of holding up the stop
        server.should_exit = True
        with contextlib.suppress(ValueError):
            loop.remove_reader(life_fd)

    loop.add_reader(life_fd, stop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)


def _database_words(settings: Settings) -> str:
    if settings.database_kind == "sqlite":
        import sqlite3

        return f"SQLite {sqlite3.sqlite_version} in {settings.database_url_resolved.partition(':///')[2]}"
    return "PostgreSQL"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="corral.server.child")
    parser.add_argument("name", choices=["api"])
    for name in ("settings-fd", "ready-fd", "life-fd", "listen-fd"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args()


if __name__ == "__main__":
    main()
