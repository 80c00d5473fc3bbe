"""The local engine does what every engine does, with real processes."""

from collections.abc import AsyncIterator

import pytest

from tests.engines.engine_suite import EngineSuite, Place
from tests.engines.local.places import local_place


class TestLocalEngine(EngineSuite):
    @pytest.fixture
    async def place(self) -> AsyncIterator[Place]:  # type: ignore[override]
        async with local_place() as made:
            yield made
