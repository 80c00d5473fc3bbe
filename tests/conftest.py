"""Fixtures for every test: fresh databases of both kinds, the application, a running Corral.

A test that uses `database_url` or `database` runs twice, on SQLite and on PostgreSQL.
"""

import os
import re
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests import forks
from tests.clocks import ShiftedClock
from tests.databases import (
    FOUNDED_TEMPLATE,
    TEMPLATE,
    founded_postgresql_template,
    founded_sqlite_file,
    migrated_postgresql_template,
    migrated_sqlite_file,
    postgresql_database,
    sqlite_database,
)
from tests.live import LiveCorral, running_corral
from tests.postgres import Server, shared_server
from tests.runs import begin_run, current_run, end_run

# The same random examples in every run: what one change is blamed for was not there before it. New ones are
# tried by `make explore`. No deadline: a machine that does other things is slow, not wrong.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("new", derandomize=False, print_blob=True, deadline=None)
settings.load_profile("repeatable")

# The application is imported by the fixtures that use it: a second of work that many tests do not need.
if TYPE_CHECKING:
    from fastapi import FastAPI

    from corral.accelerators.machine import Machine
    from corral.identity.passwords import Passwords
    from corral.kinds.plug import Kind
    from corral.server.settings import Settings
    from corral.store.database import Database
    from tests.apps import ApiClient


def pytest_addoption(parser: pytest.Parser) -> None:
    forks.add_options(parser)
    parser.addoption("--shapes", metavar="FILE", help="write down which statements each test executes")
    parser.addoption(
        "--postgresql",
        choices=("all", "covering"),
        default="all",
        help="covering: without the tests of tests/covered.txt, whose statements others execute there",
    )


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        begin_run()
    forks.register(config)
    if file := config.getoption("--shapes"):
        from tests.shapes import Shapes

        first = not hasattr(config, "workerinput")
        config.pluginmanager.register(Shapes(Path(file), anew=first))


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        end_run()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of one database only are sorted into its stage, as those of both are by their parameter."""
    if config.getoption("--postgresql") == "covering":
        _leave_covered_out(config, items)
    if "MUTANT_UNDER_TEST" in os.environ:
        for item in items:
            item._nodeid = item.nodeid  # type: ignore[attr-defined] -- mutmut 3.8 asks pytest 9.2 for it
    for item in items:
        names = getattr(item, "fixturenames", ())
        if "postgresql_server" in names:
            item.add_marker("postgresql")
        elif "sqlite_template" in names:
            item.add_marker("sqlite")
        if "live_corral" in names or hasattr(getattr(item, "module", None), "running_corral"):
            item.add_marker("live")
        if _shares_with_its_module(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))


def _shares_with_its_module(item: pytest.Item) -> bool:
    """With `--forks` one process runs all tests of a module that share a server, started once."""
    fixtures = getattr(item, "_fixtureinfo", None)
    found = fixtures.name2fixturedefs.values() if fixtures else ()
    return any(one[-1].scope == "module" for one in found)


_KIND = re.compile(r"(?<=[\[-])postgresql(?=[\]-])")


def _leave_covered_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    lines = (Path(__file__).parent / "covered.txt").read_text(encoding="utf-8").splitlines()
    covered = {line for line in lines if not line.startswith("#")}

    def is_covered(item: pytest.Item) -> bool:
        kind = item.callspec.params.get("database_kind") if hasattr(item, "callspec") else None
        return kind == "postgresql" and _KIND.sub("database", item.nodeid) in covered

    left_out = [item for item in items if is_covered(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not is_covered(item)]


@pytest.fixture(scope="session")
def postgresql_server() -> Server:
    """The run's PostgreSQL server, without any database of ours."""
    return shared_server(current_run())


@pytest.fixture(scope="session")
def sqlite_template() -> Path:
    """A migrated SQLite file; copy it, do not open it."""
    return migrated_sqlite_file(current_run())


@pytest.fixture(
    params=[
        pytest.param("sqlite", marks=pytest.mark.sqlite),
        pytest.param("postgresql", marks=pytest.mark.postgresql),
    ]
)
def database_kind(request: pytest.FixtureRequest) -> str:
    """Which database the test runs on."""
    return str(request.param)


@pytest.fixture
def database_url(database_kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a fresh, migrated database; with `app`, one that has its first administrator."""
    run, founded = current_run(), "app" in request.fixturenames
    if database_kind == "sqlite":
        template = founded_sqlite_file(run) if founded else migrated_sqlite_file(run)
        with sqlite_database(run, template) as url:
            yield url
    elif founded:
        with postgresql_database(founded_postgresql_template(run), FOUNDED_TEMPLATE) as url:
            yield url
    else:
        with postgresql_database(migrated_postgresql_template(run), TEMPLATE) as url:
            yield url


@pytest.fixture
def empty_database_url(database_kind: str) -> Iterator[str]:
    """The address of a database without tables, for tests of the migrations."""
    run = current_run()
    with (
        sqlite_database(run) if database_kind == "sqlite" else postgresql_database(shared_server(run)) as url
    ):
        yield url


@pytest.fixture
def clock() -> ShiftedClock:
    """The time of `database`; a test moves it on with `clock.advance(hours=2)`."""
    return ShiftedClock()


@pytest.fixture
async def database(database_url: str, clock: ShiftedClock) -> "AsyncIterator[Database]":
    """A fresh, migrated database."""
    from corral.store.database import Database
    from tests.compiled import share_compiled_statements
    from tests.plain_logs import render_logs_plainly

    share_compiled_statements()
    render_logs_plainly()
    opened = Database(database_url, clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def settings(tmp_path: Path) -> "Settings":
    """Behind a TLS proxy, as in production; give `settings.model_copy(update=…)` for another one."""
    from corral.server.settings import Settings
    from tests.apps import ORIGIN

    home = tmp_path / "home"
    home.mkdir()
    return Settings(home=home, behind_proxy=ORIGIN)


@pytest.fixture
def passwords() -> "Iterator[Passwords]":
    """Argon2 with the least work, so that tests do not spend their time on it."""
    from corral.identity.passwords import Passwords

    made = Passwords(time_cost=1, memory_kib=64)
    yield made
    made.close()


@pytest.fixture(scope="session")
def machine() -> "Machine":
    """What this machine has, read once."""
    from corral.accelerators.machine import detect_machine

    return detect_machine()


@pytest.fixture
def kinds() -> "tuple[Kind, ...]":
    """The kinds of work that the application has."""
    from corral.server.kinds import KINDS

    return KINDS


@pytest.fixture
async def app(
    settings: "Settings",
    database: "Database",
    passwords: "Passwords",
    machine: "Machine",
    kinds: "tuple[Kind, ...]",
    tmp_path: Path,
) -> "AsyncIterator[FastAPI]":
    """The application, started, with the first administrator in its database."""
    from corral.server.app import Parts, create_app
    from corral.store.keyring import Keyring
    from tests.apps import started

    keyring = Keyring.open(tmp_path / "keyring")
    made = create_app(Parts(settings, database, keyring, machine, passwords, kinds=kinds))
    async with started(made):
        yield made


@pytest.fixture
async def visitor(app: "FastAPI") -> "AsyncIterator[ApiClient]":
    """Somebody who has not signed in."""
    from tests.apps import ApiClient

    client = ApiClient(app)
    yield client
    await client.close()


@pytest.fixture
async def admin(app: "FastAPI") -> "AsyncIterator[ApiClient]":
    """The first administrator, signed in."""
    from tests.apps import ADMIN_NAME, ADMIN_PASSWORD, ApiClient

    client = ApiClient(app, address="192.0.2.1")
    answer = await client.sign_in(ADMIN_NAME, ADMIN_PASSWORD)
    assert answer.is_success, answer.text
    yield client
    await client.close()


@pytest.fixture(scope="module")
def live_corral(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCorral]:
    """A real `corral up` on a free port with a data directory of its own."""
    with running_corral(tmp_path_factory.mktemp("corral")) as corral:
        yield corral


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows the end of the log of the Corral it used."""
    report = yield
    corral = getattr(item, "funcargs", {}).get("live_corral")
    if report.failed and corral is not None:
        report.sections.append(("log of corral up", corral.log_tail()))
    return report
