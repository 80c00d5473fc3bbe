"""One uid per Corral user, for ever: what one left behind never becomes another's.

A map that cannot be read, or that is gone while there are files of people, gives no uid to anybody until it
is restored: begun anew, it would hand one person's files to another.
"""

import os
import pwd
import threading
from pathlib import Path

from corral.core.refusals import Unavailable
from corral.engines.local.records import durable_json

FIRST_UID = 200_000
MOST_PEOPLE = 65_536
FILE = "people.json"
_REMEDY = f"Restore {FILE} from a backup; docs/local-engine.md says how without one."
# Where files of people lie, below the data directory.
_THEIRS = ("homes", "workspaces")
_SUBORDINATE = (Path("/etc/subuid"), Path("/etc/subgid"))


class TooManyUsers(Exception):
    """Every uid of the range was given away."""


class UserIdsUnavailable(Unavailable):
    """Nobody knows which uid belongs to whom: work waits until an administrator has restored the map."""


class UserIds:
    """The map lies in the data directory; it only grows. It is read when it is needed first."""

    def __init__(self, data: Path, first_uid: int = FIRST_UID, most: int = MOST_PEOPLE) -> None:
        self._data = data
        self._first = first_uid
        self._most = most
        self._lock = threading.Lock()
        self._uids: dict[str, int] | None = None

    def uid_of(self, owner: str) -> int:
        """The uid of this user; the next free one for a new user, written down before it is used."""
        with self._lock:
            uids = self._known()
            if owner in uids:
                return uids[owner]
            uid = self._next(uids)
            if uid >= self._first + self._most:
                raise TooManyUsers(f"all {self._most} uids from {self._first} on are given away")
            durable_json.replace(self._data, FILE, {"uids": {**uids, owner: uid}})
            uids[owner] = uid
            return uid

    def _next(self, uids: dict[str, int]) -> int:
        """After every uid that was ever given: also one that an older map, restored, does not know."""
        uid = max((self._first - 1, *uids.values(), *self._uids_of_files())) + 1
        borrowed = _borrowed()
        while True:
            end = max((range_.stop for range_ in borrowed if uid in range_), default=uid)
            if end == uid and not _is_of_machine(uid):
                return uid
            uid = max(end, uid + 1)

    def problem(self) -> str | None:
        """Why nobody gets a uid, in words; None if everybody does."""
        with self._lock:
            try:
                self._known()
            except UserIdsUnavailable as unknown:
                return f"{unknown.detail} {unknown.remedy}"
            return None

    def _known(self) -> dict[str, int]:
        if self._uids is None:
            self._uids = self._read()
        return self._uids

    def _read(self) -> dict[str, int]:
        try:
            content = durable_json.read(self._data, FILE)
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is damaged"
            raise UserIdsUnavailable(f"{FILE} cannot be read ({why}): no uid is given.", _REMEDY) from error
        if content is None:
            self._check_that_nobody_was_here()
            return {}
        match content.get("uids"):
            case dict(uids) if all(_is_uid(uid) for uid in uids.values()) and _all_different(uids):
                return {str(owner): uid for owner, uid in uids.items()}
        raise UserIdsUnavailable(f"{FILE} is damaged: no uid is given.", _REMEDY)

    def _check_that_nobody_was_here(self) -> None:
        for kind in _THEIRS:
            if self._uids_of_files(kind):
                raise UserIdsUnavailable(
                    f"{FILE} is missing, and {kind} has files of people: no uid is given.", _REMEDY
                )

    def _uids_of_files(self, *kinds: str) -> set[int]:
        found = set()
        for kind in kinds or _THEIRS:
            try:
                with os.scandir(self._data / kind) as entries:
                    found |= {entry.stat(follow_symlinks=False).st_uid for entry in entries}
            except FileNotFoundError:
                continue
        return {uid for uid in found if self._first <= uid < self._first + self._most}


def _borrowed() -> list[range]:
    """What containers of the machine's own users may become, in their name."""
    found = []
    for path in _SUBORDINATE:
        try:
            lines = path.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            match line.split(":"):
                case [_, start, count] if start.isdecimal() and count.isdecimal():
                    found.append(range(int(start), int(start) + int(count)))
    return found


def _is_of_machine(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _is_uid(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _all_different(uids: dict[object, object]) -> bool:
    return len(set(uids.values())) == len(uids)
