"""A campus whose Corral has a toy kind beside its own."""

import pytest

from corral.kinds.plug import Kind
from corral.server.kinds import KINDS
from corral.store.database import Database
from tests.campus import campus
from tests.control.ground import ground
from tests.kinds.toy_kind import TOY, toy

__all__ = ["campus", "ground"]


@pytest.fixture
def kinds() -> tuple[Kind, ...]:
    return (*KINDS, TOY)


@pytest.fixture(autouse=True)
async def toy_table(database: Database) -> None:
    """What its migration would do."""
    await database.write(lambda transaction: toy.create(transaction.connection))
