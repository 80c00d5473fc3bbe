"""One uid per Corral user, for ever: what one left behind never becomes another's."""

import threading
from pathlib import Path

from corral.engines.local import records

FIRST_UID = 200_000
MOST_PEOPLE = 65_536
_FILE = "people.json"


class TooManyPeople(Exception):
    """Every uid of the range was given away."""


class People:
    """The map lies in the data directory; it only grows."""

    def __init__(self, data: Path, first_uid: int = FIRST_UID, most: int = MOST_PEOPLE) -> None:
        self._data = data
        self._first = first_uid
        self._most = most
        self._lock = threading.Lock()
        content = records.read(data, _FILE) or {"uids": {}}
        uids = content["uids"]
        assert isinstance(uids, dict)
        self._uids: dict[str, int] = {str(owner): int(uid) for owner, uid in uids.items()}

    def uid_of(self, owner: str) -> int:
        """The uid of this user; the next free one for a new user, written down before it is used."""
        with self._lock:
            if owner in self._uids:
                return self._uids[owner]
            uid = max((self._first - 1, *self._uids.values())) + 1
            if uid >= self._first + self._most:
                raise TooManyPeople(f"all {self._most} uids from {self._first} on are given away")
            records.replace(self._data, _FILE, {"uids": {**self._uids, owner: uid}})
            self._uids[owner] = uid
            return uid
