"""A campus with people for tests of queues."""

from tests.campus import campus

__all__ = ["campus"]
