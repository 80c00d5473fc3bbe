"""The engine of a simulated zone does what every engine does, on both databases."""

import pytest

from corral.store.database import Database
from tests.clocks import ShiftedClock
from tests.engines.engine_suite import EngineSuite, Place
from tests.engines.simulated_zone.places import SimulatedZonePlace, make_zone


class TestSimulatedZoneEngine(EngineSuite):
    @pytest.fixture
    async def place(self, database: Database, clock: ShiftedClock) -> Place:  # type: ignore[override]
        return SimulatedZonePlace(database, clock, await make_zone(database))
