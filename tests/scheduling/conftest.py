"""What `make mutants` needs of the tests."""

import pytest
from hypothesis import settings

# The same examples in every run, so that the same mutants survive.
settings.register_profile("repeatable", derandomize=True, database=None)


def pytest_itemcollected(item: pytest.Item) -> None:
    # mutmut 3.8 reads a private name that pytest 9.2 no longer has.
    item._nodeid = item.nodeid  # type: ignore[attr-defined]
