"""Two hosts of one Corral on this machine: two data directories, two ports, one PostgreSQL."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import select

from corral.store.database import Database, Transaction
from corral.store.leadership import leadership
from corral.zones.tables import zone
from tests.databases import postgresql_database
from tests.live import LiveCorral, corral_environment, end_work, running_corral
from tests.postgres import Server
from tests.stories.people import Person, administrator

CORRAL = Path(sys.executable).parent / "corral"
GPUS = {"CORRAL_SIMULATED_GPUS": "2xL4-24GB"}


@dataclass
class TwoHosts:
    """`second` joined with the keys of `first`."""

    first: LiveCorral
    second: LiveCorral
    database_url: str

    def __iter__(self) -> Iterator[LiveCorral]:
        return iter((self.first, self.second))

    def zone_of(self, corral: LiveCorral) -> str:
        """The name of the zone that the machine of this host is."""
        identity = (corral.home / "zone-id").read_text().strip()
        zones = administrator(self.first if alive(self.first) else self.second).call("GET", "/zones")["items"]
        return next(str(one["name"]) for one in zones if one["identity"] == identity)

    def leaders(self) -> dict[str, set[str]]:
        """By the identity of each zone: the ids of the hosts that have led a loop of it last."""

        def read(transaction: Transaction) -> dict[str, set[str]]:
            of_zone = leadership.c.name.like("%/" + zone.c.id)
            rows = transaction.rows(select(zone.c.identity, leadership.c.holder).where(of_zone))
            found: dict[str, set[str]] = {}
            for identity, holder in rows:
                found.setdefault(identity, set()).add(holder.partition("/")[0])
            return found

        async def ask() -> dict[str, set[str]]:
            database = Database(self.database_url)
            try:
                return await database.read(read)
            finally:
                await database.close()

        return asyncio.run(ask())


@contextmanager
def two_hosts(folder: Path, server: Server) -> Iterator[TwoHosts]:
    first, second, bundle = folder / "first", folder / "second", folder / "join"
    for one in (first, second):
        one.mkdir()
    with postgresql_database(server) as url, ExitStack() as stack:
        environment = {"CORRAL_DATABASE_URL": url} | GPUS
        one = stack.enter_context(running_corral(first, environment=environment))
        run_corral(first / "home", "host", "bundle", str(bundle), CORRAL_DATABASE_URL=url)
        run_corral(second / "home", "join", str(bundle))
        two = stack.enter_context(running_corral(second, environment=GPUS))
        yield TwoHosts(one, two, url)


def run_corral(home: Path, *words: str, **more: str) -> str:
    done = subprocess.run(
        [str(CORRAL), *words],
        env=corral_environment(home, 1, more),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def alive(corral: LiveCorral) -> bool:
    return corral.process.poll() is None


def kill_host(corral: LiveCorral) -> None:
    """Every process of `corral up` at once, without a word; its work is in sessions of its own."""
    os.killpg(corral.process.pid, signal.SIGKILL)
    corral.process.wait()
    (corral.home / "endpoints.json").unlink(missing_ok=True)


def people_of(hosts: TwoHosts) -> tuple[Person, Person]:
    """The administrator at each of the two."""
    return administrator(hosts.first), administrator(hosts.second)


__all__ = ["TwoHosts", "alive", "end_work", "kill_host", "people_of", "run_corral", "two_hosts"]
