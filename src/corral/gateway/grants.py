"""Who may enter an app: a grant, sealed into a cookie that only the app's own host name gets.

The gateway remembers nobody: a cookie is all there is, so that people stay where they are when it starts
again. Whether a grant still stands is the API's to say.
"""

import base64
import binascii
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Final

from corral.gateway.heads import cookie_values
from corral.gateway.names import AppName

LIFETIME_SECONDS: Final = 7 * 24 * 3600
_MOST_COOKIES: Final = 8  # of our name; others may plant some, never one that is valid here
_SIGNATURE_BYTES: Final = 32
_REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class Grant:
    user_id: str
    session_id: str  # of the console, or the token; when it ends, so does this
    name: AppName
    granted_at: int  # seconds since the epoch

    @property
    def workload_id(self) -> str:
        return self.name.workload_id


class GrantCookies:
    def __init__(self, key: bytes, *, secure: bool) -> None:
        self._key = key
        self._secure = secure
        self.cookie = b"__Host-corral-app" if secure else b"corral-app"
        self.names = frozenset({b"__Host-corral-app", b"corral-app"})
        self._read: dict[bytes, Grant] = {}

    def write(self, grant: Grant) -> bytes:
        """The value of a Set-Cookie header."""
        payload = json.dumps(
            [grant.user_id, grant.session_id, grant.name.workload_id, grant.name.port, grant.granted_at]
        ).encode()
        sealed = base64.urlsafe_b64encode(self._sign(payload) + payload).rstrip(b"=")
        attributes = b"; Path=/; HttpOnly; SameSite=Lax" + (b"; Secure" if self._secure else b"")
        return self.cookie + b"=" + sealed + attributes

    def read(self, cookies: bytes, name: AppName) -> Grant | None:
        if self.cookie not in cookies:
            return None
        for value in cookie_values(cookies, self.cookie)[:_MOST_COOKIES]:
            grant = self._read.get(value) or self._open(value)
            if grant is not None and grant.name == name and self._is_current(grant):
                return grant
        return None

    def _open(self, value: bytes) -> Grant | None:
        try:
            sealed = base64.urlsafe_b64decode(value + b"=" * (-len(value) % 4))
        except (ValueError, binascii.Error):
            return None
        signature, payload = sealed[:_SIGNATURE_BYTES], sealed[_SIGNATURE_BYTES:]
        if not hmac.compare_digest(signature, self._sign(payload)):
            return None
        user_id, session_id, workload_id, port, granted_at = json.loads(payload)
        grant = Grant(user_id, session_id, AppName(workload_id, port), granted_at)
        if len(self._read) >= _REMEMBERED:
            self._read.clear()
        self._read[value] = grant
        return grant

    def _is_current(self, grant: Grant) -> bool:
        return 0 <= time.time() - grant.granted_at + 60 <= LIFETIME_SECONDS

    def _sign(self, payload: bytes) -> bytes:
        return hmac.digest(self._key, b"corral app grant\0" + payload, hashlib.sha256)
