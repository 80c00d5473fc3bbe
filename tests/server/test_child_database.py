"""A database that does not let the api child in is told in words, without the password."""

from pathlib import Path
from typing import Any

import pytest

from corral.core.bounds import PersonBounds
from corral.server.child import CannotStartError, _migrate, open_database
from corral.server.settings import Settings
from tests.postgres import Server


def start_with(home: Path, database_url: str) -> CannotStartError:
    said: list[dict[str, Any]] = []
    with pytest.raises(CannotStartError) as refused:
        _migrate(Settings(home=home, database_url=database_url), said.append)
    assert said == []
    return refused.value


def test_a_database_that_is_not_there_is_named(postgresql_server: Server, tmp_path: Path) -> None:
    refused = start_with(tmp_path, postgresql_server.url("not_there"))
    assert 'database "not_there" does not exist' in str(refused)
    assert "corral config show" in refused.remedy


def test_a_user_whom_the_server_does_not_know_is_named(postgresql_server: Server, tmp_path: Path) -> None:
    url = f"postgresql://nobody:s3cret@127.0.0.1:{postgresql_server.port}/postgres"
    refused = start_with(tmp_path, url)
    assert "nobody" in str(refused)
    assert "s3cret" not in str(refused)


async def test_services_get_the_bounds_that_the_settings_name(tmp_path: Path) -> None:
    database = open_database(Settings(home=tmp_path, max_tokens_per_user=3))
    try:
        assert await database.read(lambda transaction: transaction.bounds) == PersonBounds(tokens=3)
        assert await database.scan(lambda transaction: transaction.bounds) == PersonBounds(tokens=3)
        assert await database.write(lambda transaction: transaction.bounds) == PersonBounds(tokens=3)
    finally:
        await database.close()
