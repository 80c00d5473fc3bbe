"""The settings as one object."""

from pathlib import Path

from corral.server.settings.access import Access
from corral.server.settings.keeping import Kept
from corral.server.settings.network import Network
from corral.server.settings.people import People
from corral.server.settings.storage import Storage, mask_database_url
from corral.server.settings.work import Work


# Pydantic begins with the fields of the last base: that is the order of the page.
class Settings(Work, People, Kept, Access, Network, Storage):
    """What holds from start to stop. What an administrator changes while it runs is in the database."""

    def shown(self, key: str) -> object:
        """The value as it may be shown: JSON-ready, secrets masked."""
        value = getattr(self, key)
        if key == "database_url":
            return mask_database_url(value)
        if isinstance(value, Path):
            return str(value)
        return list(value) if isinstance(value, tuple) else value
