"""What an installation can be told before it starts: one frozen object, every value described and bounded.

Each group of settings has a module. Where the values come from (defaults, corral.toml, CORRAL_*, flags) is
the business of `settings_sources`.
"""

from corral.server.settings.model import Settings
from corral.server.settings.storage import mask_database_url

__all__ = ["Settings", "mask_database_url"]
