"""The installation with people in it."""

from tests.campus import campus

__all__ = ["campus"]
