"""The databases of the tests: fresh each time, and nothing is left behind."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import text

from corral.store.database import Database, Transaction
from corral.store.migrate import HEAD, current_revision

_OTHER_RUN = """
import time
from tests.postgres import shared_server
from tests.runs import begin_run, current_run
begin_run()
server = shared_server(current_run())
print(current_run().folder, server.socket_directory, flush=True)
time.sleep(600)
"""


@pytest.mark.postgresql
def test_server_of_a_killed_run_stops_and_removes_its_files() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _OTHER_RUN], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        shared, cluster = map(Path, run.stdout.readline().split())
        supervisor = os.pidfd_open(int((shared / "postgresql.pid").read_text()))
        postmaster = os.pidfd_open(int((cluster / "data" / "postmaster.pid").read_text().splitlines()[0]))
        run.send_signal(signal.SIGKILL)
    try:
        for process in (postmaster, supervisor):
            assert select.select([process], [], [], 30)[0], "it runs on after its test run was killed"
    finally:
        os.close(supervisor)
        os.close(postmaster)
    assert not shared.exists()
    assert not cluster.exists()


@pytest.mark.parametrize("_again", [1, 2])
async def test_each_test_gets_a_database_of_its_own(database: Database, _again: int) -> None:
    def make_table(transaction: Transaction) -> None:
        # Fails the second time if both had the same database.
        transaction.run(text("CREATE TABLE made_by_this_test (id INTEGER)"))

    await database.write(make_table)


async def test_fresh_database_has_the_newest_schema(database_url: str) -> None:
    assert await asyncio.to_thread(current_revision, database_url) == HEAD


async def test_empty_database_has_no_schema(empty_database_url: str) -> None:
    assert await asyncio.to_thread(current_revision, empty_database_url) is None
