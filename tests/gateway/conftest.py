"""A campus with people and a zone."""

from tests.campus import campus
from tests.control.ground import ground

__all__ = ["campus", "ground"]
