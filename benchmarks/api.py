"""What requests cost: `uv run python -m benchmarks.api`.

Corral and a bare FastAPI route run as two equal server processes and are asked in turn, so that what else the
machine does hits both. CPU is that of the server process alone; the best of several rounds counts.
"""

import asyncio
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psutil

from benchmarks.client import Measured, Request, measure, send_once
from benchmarks.plans import plans_of
from benchmarks.report import parser, show
from benchmarks.seed import CACHE, NOW, SESSION_SECRET, Seed, seeded_home
from corral.api.callers import Authority, Caller, Origin
from corral.audit.search import Filters, search
from corral.core.permissions import Permission
from corral.identity.credentials import csrf_token
from corral.server.app import find_organisation_path
from corral.store.database import Database, Transaction
from tests.live import free_port, running_corral

REQUESTS = 1000
TOKENS = 150  # people may have 200
BARE = Request("GET", "/status")


@dataclass(frozen=True)
class Case:
    name: str
    request: Request
    requests: int = REQUESTS
    expected: int = 200


def cases(seed: Seed, port: int) -> list[Case]:
    cookie = ("Cookie", f"corral_session_{port}={SESSION_SECRET}")
    session = (cookie,)
    changing = (cookie, ("X-CSRF-Token", csrf_token(SESSION_SECRET)))
    token = json.dumps({"name": "benchmark 000000", "scopes": ["people.read"]}).encode()
    found = [
        Case("session check", Request("GET", "/api/v1/session", session)),
        Case("list 50 of 10,000 people", Request("GET", "/api/v1/users?limit=50", session)),
        Case("create token", Request("POST", "/api/v1/me/tokens", changing, token), TOKENS, 201),
    ]
    for name, filters in searches(seed).items():
        target = f"/api/v1/audit?{urlencode(query_of(filters), doseq=True)}"
        found.append(Case(f"audit: {name}", Request("GET", target, session)))
    return found


def searches(seed: Seed) -> dict[str, Filters]:
    """What people look for in the audit log."""
    month = replace(Filters(), since=NOW - timedelta(days=200), until=NOW - timedelta(days=170))
    who = Filters(actor_id=seed.actor)
    return {
        "newest 50": Filters(),
        "one month": month,
        "who": who,
        "what": Filters(actions=("role.create",)),
        "refused": Filters(result="refused"),
        "scope": Filters(organisation_id=seed.organisation),
        "who, what": replace(who, actions=("grant.create",)),
        "who, scope": replace(who, organisation_id=seed.organisation),
        "what, scope, refused": Filters(
            actions=("grant.create",), organisation_id=seed.organisation, result="refused"
        ),
        "who, what, scope, month": replace(
            month, actor_id=seed.actor, actions=("grant.create",), organisation_id=seed.organisation
        ),
        "object": Filters(object_id=seed.object),
    }


def query_of(filters: Filters) -> dict[str, Any]:
    values = {
        "actor": filters.actor_id,
        "action": list(filters.actions),
        "object": filters.object_id,
        "organisation": filters.organisation_id,
        "result": filters.result,
        "since": filters.since and filters.since.isoformat(),
        "until": filters.until and filters.until.isoformat(),
    }
    return {key: value for key, value in values.items() if value}


async def run(seed: Seed, rounds: int) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="run-") as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir(mode=0o700)
        shutil.copyfile(seed.home / "corral.db", home / "corral.db")
        with running_corral(folder) as corral, bare_server() as (bare_port, bare_pid):
            pid = _api_process(corral.process.pid)
            database = home / "corral.db"
            wanted = cases(seed, corral.port)
            best: dict[str, Measured] = {}
            sizes = {}
            for case in wanted:
                status, body = await send_once(corral.port, case.request)
                assert status == case.expected, (case.name, status, body)
                sizes[case.name] = len(body)
            await measure(bare_port, bare_pid, BARE, REQUESTS, 200)
            for _ in range(rounds):
                for case in wanted:
                    _forget_tokens(database, seed.administrator)
                    bare = await measure(bare_port, bare_pid, BARE, REQUESTS, 200)
                    ours = await measure(corral.port, pid, case.request, case.requests, case.expected)
                    _keep_best(best, "bare FastAPI route", bare)
                    _keep_best(best, case.name, ours)
    yardstick = best["bare FastAPI route"].cpu_microseconds
    return [
        {
            "request": name,
            "requests/s": round(one.per_second),
            "µs CPU": round(one.cpu_microseconds),
            "x bare": round(one.cpu_microseconds / yardstick, 1),
            "bytes": sizes.get(name, 15),
        }
        for name, one in best.items()
    ]


@contextmanager
def bare_server() -> Iterator[tuple[int, int]]:
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.bare", str(port)], env=environment)
    try:
        while not _answers(port):
            if process.poll() is not None:
                raise RuntimeError("the bare server did not start")
            time.sleep(0.05)
        yield port, process.pid
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _api_process(parent: int) -> int:
    """The child that serves."""
    for child in psutil.Process(parent).children(recursive=True):
        if "corral.server.child" in child.cmdline():
            return child.pid
    raise RuntimeError("corral up has no api process")


def _keep_best(best: dict[str, Measured], name: str, one: Measured) -> None:
    if name not in best or one.cpu_seconds / one.requests < best[name].cpu_seconds / best[name].requests:
        best[name] = one


def _forget_tokens(database: Path, user_id: str) -> None:
    with closing(sqlite3.connect(database, timeout=30)) as connection, connection:
        connection.execute("DELETE FROM token WHERE user_id = ? AND NOT local", (user_id,))


async def show_plans(seed: Seed) -> None:
    """How SQLite answers each of the searches, on the seeded database."""
    with closing(sqlite3.connect(seed.home / "corral.db")) as connection:
        (root,) = connection.execute("SELECT path FROM organisation WHERE parent_id IS NULL").fetchone()
    authority = Authority(root, frozenset({Permission.AUDIT_READ}))
    caller = Caller(seed.administrator, "admin", "system", "", Origin("", ""), (authority,))
    database = Database(f"sqlite:///{(seed.home / 'corral.db').absolute()}")
    try:
        for name, filters in searches(seed).items():

            def work(transaction: Transaction, filters: Filters = filters) -> object:
                return search(transaction, caller, filters, find_organisation_path, limit=51)

            started = time.perf_counter()
            plans = await database.read(plans_of, work)
            print(f"\naudit: {name} ({(time.perf_counter() - started) * 1000:.1f} ms with its explanation)")
            for step in [step for plan in plans for step in plan.steps]:
                print(f"    {step}")
    finally:
        await database.close()


def main() -> None:
    arguments = parser("api", "Requests a second and CPU a request, beside a bare FastAPI route.")
    arguments.add_argument("--rows", type=int, default=1_000_000, help="audit entries (default: 1,000,000)")
    arguments.add_argument("--rounds", type=int, default=5, help="the best of how many (default: 5)")
    arguments.add_argument("--plans", action="store_true", help="show the query plans of the audit search")
    given = arguments.parse_args()
    seed = asyncio.run(seeded_home(given.rows))
    show("api", asyncio.run(run(seed, given.rounds)), given.json)
    if given.plans:
        asyncio.run(show_plans(seed))


if __name__ == "__main__":
    main()
