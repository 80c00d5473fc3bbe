"""Trusted devices: each successful sign-in leaves a cookie, bound to the account that signed in.

It opens nothing. Who has it is not held up by the wrong tries of others, and has a few tries of their own.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from corral.store.keyring import Keyring, KeyringError

LIFETIME = timedelta(days=180)
# People who share a computer.
MOST_ACCOUNTS = 5
_LONGEST = 2048
_PURPOSE = "devices"


@dataclass(frozen=True, slots=True)
class Devices:
    keyring: Keyring
    cookie: str

    def known(self, cookies: Mapping[str, str]) -> dict[str, str]:
        """Accounts that signed in here before, each with the name of the device for it."""
        sealed = cookies.get(self.cookie, "")
        if not sealed or len(sealed) > _LONGEST:
            return {}
        try:
            return {str(user): str(device) for user, device in json.loads(self._open(sealed)).items()}
        except (KeyringError, ValueError, AttributeError):
            return {}

    def remember(self, cookies: Mapping[str, str], user_id: str) -> str:
        """The cookie after this account signed in: the newest first, a fresh name each time."""
        others = [one for one in self.known(cookies).items() if one[0] != user_id]
        kept = dict([(user_id, secrets.token_hex(8)), *others[: MOST_ACCOUNTS - 1]])
        sealed = self.keyring.encrypt(json.dumps(kept), _PURPOSE)
        return sealed.replace("+", "-").replace("/", "_").rstrip("=")  # what a cookie may hold unquoted

    def _open(self, cookie: str) -> str:
        sealed = cookie.replace("-", "+").replace("_", "/")
        return self.keyring.decrypt(sealed + "=" * (-len(sealed) % 4), _PURPOSE)
