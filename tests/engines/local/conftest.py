"""A cage of each kind; see `cage.py`."""

import os
from collections.abc import Iterator

import pytest

from tests.engines.local.cage import Cage, Installed, cage_of, installed
from tests.engines.local.street import Street, street


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


@pytest.fixture
def cage_of_user(place: Installed) -> Iterator[Cage]:
    with cage_of("user", place) as made:
        yield made


@pytest.fixture(scope="session")
def the_street() -> Iterator[Street]:
    if os.geteuid() != 0:
        pytest.skip("a network for tests is made as root")
    with street() as there:
        yield there


@pytest.fixture(params=["root", "user"])
def cage_on_street(request: pytest.FixtureRequest, place: Installed, the_street: Street) -> Iterator[Cage]:
    """A cage on a machine with a neighbour."""
    with cage_of(request.param, place, the_street) as made:
        yield made
