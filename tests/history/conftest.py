"""A zone whose loops take their turns when told to."""

from tests.campus import campus
from tests.control.ground import ground

__all__ = ["campus", "ground"]
