"""What `make mutants` needs of the tests."""

import pytest


def pytest_itemcollected(item: pytest.Item) -> None:
    # mutmut 3.8 reads a private name that pytest 9.2 no longer has.
    item._nodeid = item.nodeid  # type: ignore[attr-defined]
