"""A data directory with ten thousand people and a million audit entries, made once and kept.

It is kept under the hash of everything that shapes it, so a changed schema or seed makes a new one.
"""

import asyncio
import hashlib
import random
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from corral.audit.actions import ACTIONS
from corral.core.ids import Kind, new_id
from corral.core.scopes import child_path
from corral.identity.bootstrap import found_installation, renew_presets
from corral.identity.credentials import hash_secret
from corral.store.database import Database
from corral.store.migrate import MIGRATIONS, upgrade

CACHE = Path(".cache/benchmarks").absolute()
SESSION_SECRET = "the-session-of-the-benchmark"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
YEAR_SECONDS = 365 * 24 * 3600

DEPARTMENTS, LABS_EACH = 10, 10
USERS = 10_000
REFUSED_SHARE = 0.02


@dataclass(frozen=True)
class Seed:
    """The data directory and what in it to search for."""

    home: Path
    administrator: str
    actor: str
    organisation: str
    object: str


async def seeded_home(entries: int) -> Seed:
    """The kept data directory; making it takes about a minute."""
    folder = CACHE / _fingerprint(entries)
    if not (folder / "done").exists():
        print(f"Seeding {USERS:,} people and {entries:,} audit entries …", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        await _make(folder, entries)
        (folder / "done").touch()
    with sqlite3.connect(folder / "corral.db") as connection:
        (administrator,) = connection.execute("SELECT id FROM user_account WHERE name = 'admin'").fetchone()
        (lab,) = connection.execute(
            "SELECT id FROM organisation ORDER BY length(path) DESC, path LIMIT 1"
        ).fetchone()
        actor, about = connection.execute(
            "SELECT actor_id, object_id FROM audit_entry WHERE organisation_id = ? ORDER BY id DESC", (lab,)
        ).fetchone()
    return Seed(folder, administrator, actor, lab, about)


def _fingerprint(entries: int) -> str:
    digest = hashlib.sha256(f"{entries} {USERS}".encode())
    for file in [Path(__file__), *sorted((MIGRATIONS / "versions").glob("*.py"))]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


async def _make(folder: Path, entries: int) -> None:
    path = (folder / "corral.db").absolute()
    url = f"sqlite:///{path}"
    await asyncio.to_thread(upgrade, url)
    database = Database(url)
    try:
        await database.write(found_installation, "no password opens this")
        await database.write(renew_presets)
    finally:
        await database.close()
    await asyncio.to_thread(_fill, path, entries)


def _fill(path: Path, entries: int) -> None:
    dice = random.Random(42)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-200000")
    with connection:
        places = _organisations(connection)
        people = _people(connection, dice, places)
    with connection:
        indexes = _without_indexes(connection)
        connection.executemany(
            f"INSERT INTO audit_entry VALUES ({','.join('?' * 17)})", _entries(dice, entries, places, people)
        )
        # Sorted by key, as the log grows in reality within one scope; row by row it would take much longer.
        connection.execute("CREATE TEMP TABLE above (organisation_id TEXT, scope_id TEXT)")
        connection.executemany(
            "INSERT INTO above VALUES (?, ?)",
            [(one, scope) for one, where in places.items() for scope in where.strip("/").split("/")],
        )
        connection.execute(
            "INSERT OR IGNORE INTO audit_posting (scope_id, result, entry_id, actor_id, action) "
            "SELECT above.scope_id, e.result, e.id, e.actor_id, e.action "
            "FROM audit_entry e JOIN above ON above.organisation_id = e.organisation_id ORDER BY 1, 2, 3"
        )
        for statement in indexes:
            connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def _without_indexes(connection: sqlite3.Connection) -> list[str]:
    """Drops the indexes of the audit log and returns how to make them again."""
    found = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL "
        "AND tbl_name IN ('audit_entry', 'audit_posting')"
    ).fetchall()
    for name, _ in found:
        connection.execute(f"DROP INDEX {name}")
    return [sql for _, sql in found]


def _organisations(connection: sqlite3.Connection) -> dict[str, str]:
    """Ids and paths of the root, the departments and their labs."""
    root, path = connection.execute("SELECT id, path FROM organisation").fetchone()
    places = {root: path}
    for department in range(DEPARTMENTS):
        above = _organisation(connection, places, root, f"Department {department}")
        for lab in range(LABS_EACH):
            _organisation(connection, places, above, f"Lab {department}.{lab}")
    return places


def _organisation(connection: sqlite3.Connection, places: dict[str, str], parent: str, name: str) -> str:
    one = new_id(Kind.ORGANISATION, NOW)
    places[one] = child_path(places[parent], one)
    connection.execute(
        "INSERT INTO organisation (id, parent_id, name, name_key, path, created_at, generation) "
        "VALUES (?, ?, ?, ?, ?, ?, 1)",
        (one, parent, name, name.casefold(), places[one], _micros(NOW)),
    )
    return one


def _people(connection: sqlite3.Connection, dice: random.Random, places: dict[str, str]) -> list[str]:
    (role,) = connection.execute("SELECT id FROM role WHERE key = 'user'").fetchone()
    (administrator,) = connection.execute("SELECT id FROM user_account").fetchone()
    people = [new_id(Kind.USER, NOW) for _ in range(USERS - 1)]
    homes = [dice.choice(list(places)) for _ in people]
    at = _micros(NOW)
    connection.executemany(
        "INSERT INTO user_account (id, name, display_name, mail, state, priority, created_at, generation) "
        "VALUES (?, ?, ?, ?, 'active', 1, ?, 1)",
        [
            (one, f"person{number}", f"Person {number}", f"person{number}@example.org", at)
            for number, one in enumerate(people)
        ],
    )
    connection.executemany(
        "INSERT INTO membership (user_id, organisation_id, created_at) VALUES (?, ?, ?)",
        [(one, home, at) for one, home in zip(people, homes, strict=True)],
    )
    connection.executemany(
        "INSERT INTO role_grant (id, user_id, role_id, organisation_id, created_at) VALUES (?, ?, ?, ?, ?)",
        [(new_id(Kind.GRANT, NOW), one, role, home, at) for one, home in zip(people, homes, strict=True)],
    )
    connection.execute("UPDATE password SET must_change = 0")
    far = _micros(NOW + timedelta(days=36500))
    connection.execute(
        "INSERT INTO session (id, user_id, secret_hash, created_at, last_seen_at, expires_at, address, "
        "user_agent, provider) VALUES (?, ?, ?, ?, ?, ?, '127.0.0.1', 'benchmark', 'local')",
        (new_id(Kind.SESSION, NOW), administrator, hash_secret(SESSION_SECRET), at, far, far),
    )
    return [administrator, *people]


def _entries(
    dice: random.Random, entries: int, places: dict[str, str], people: list[str]
) -> Iterator[tuple[object, ...]]:
    """Spread over a year; few people and actions make most of it, as in life."""
    ids, actions = list(places), list(ACTIONS)
    weights = [1 / (rank + 1) for rank in range(len(actions))]
    chosen = dice.choices(actions, weights, k=entries)
    start = NOW - timedelta(seconds=YEAR_SECONDS)
    for number in range(entries):
        at = start + timedelta(seconds=YEAR_SECONDS * number / entries)
        place = dice.choice(ids)
        rank = int(len(people) * dice.random() ** 2)
        refused = dice.random() < REFUSED_SHARE
        yield (
            new_id(Kind.AUDIT, at),
            _micros(at),
            people[rank],
            f"person{rank}",
            "session:s01k9x3v7qzt8m2c4w6d0ek",
            chosen[number],
            "user",
            dice.choice(people),
            "Someone",
            place,
            places[place],
            "refused" if refused else "done",
            "This needs the permission people.manage." if refused else None,
            '{"priority": 1, "display_name": "Someone"}',
            '{"priority": 3, "display_name": "Someone else"}',
            "192.0.2.17",
            "5f0c2b7e9d1a4c66",
        )


def _micros(at: datetime) -> int:
    return int(at.timestamp()) * 1_000_000
