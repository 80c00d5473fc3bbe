"""The PostgreSQL of the tests leaves nothing behind."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

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


async def test_each_test_gets_an_empty_database(empty_database_url: str) -> None:
    from sqlalchemy import text
    from sqlalchemy.ext.asyncio import create_async_engine

    driver = empty_database_url.replace("sqlite://", "sqlite+aiosqlite://").replace(
        "postgresql://", "postgresql+asyncpg://"
    )
    engine = create_async_engine(driver)
    async with engine.begin() as connection:
        # Fails if another test's table of this name were still there.
        await connection.execute(text("CREATE TABLE made_by_this_test (id INTEGER)"))
    await engine.dispose()
