import pytest

from corral.store.database import Database
from tests.clocks import ShiftedClock
from tests.engines.simulated_zone.places import SimulatedZonePlace, make_zone


@pytest.fixture
async def place(database: Database, clock: ShiftedClock) -> SimulatedZonePlace:
    return SimulatedZonePlace(database, clock, await make_zone(database))
