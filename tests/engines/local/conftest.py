"""A cage of each kind; see `cage.py`."""

import os
from collections.abc import Iterator

import pytest

from tests.engines.local.cage import Cage, Installed, cage_of, installed


@pytest.fixture(scope="session")
def place() -> Iterator[Installed]:
    with installed() as there:
        yield there


@pytest.fixture(params=["root", "user"])
def cage(request: pytest.FixtureRequest, place: Installed) -> Iterator[Cage]:
    if request.param == "root" and os.geteuid() != 0:
        pytest.skip("the engine of root is tested as root")
    with cage_of(request.param, place) as made:
        yield made
