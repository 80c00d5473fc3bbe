"""Identifiers that sort by time and are valid as DNS label, Kubernetes name and SSH user.

A kind letter, ten characters of milliseconds and twelve of randomness, in lower-case Crockford base32:
`u01k9x3v7qzt8m2c4w6d0ef`. Within a millisecond one process counts upwards, so its own ids keep their order.
"""

import secrets
import threading
from datetime import UTC, datetime, timedelta
from enum import StrEnum

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
TIME_CHARACTERS = 10
RANDOM_CHARACTERS = 12
LENGTH = 1 + TIME_CHARACTERS + RANDOM_CHARACTERS
PATTERN = f"[a-z][{ALPHABET}]{{{TIME_CHARACTERS + RANDOM_CHARACTERS}}}"

_EPOCH = datetime.fromtimestamp(0, UTC)
_RANDOM_BITS = RANDOM_CHARACTERS * 5


class Kind(StrEnum):
    AUDIT = "a"
    UPLOAD = "b"
    FLAVOR = "f"
    GRANT = "g"
    INVITATION = "i"
    JOIN_CODE = "j"
    SSH_KEY = "k"
    LOGIN_LINK = "l"
    RUNTIME = "m"
    NODE = "n"
    ORGANISATION = "o"
    POOL = "p"
    QUEUE = "q"
    ROLE = "r"
    SESSION = "s"
    TOKEN = "t"  # noqa: S105
    USER = "u"
    WORKLOAD = "w"
    SECRET = "x"  # noqa: S105
    ZONE = "z"


class _Source:
    """Hands out (millisecond, random) pairs that never repeat and never go back within a millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._milliseconds = -1
        self._random = 0

    def next(self, milliseconds: int) -> int:
        with self._lock:
            if milliseconds == self._milliseconds and self._random + 1 < 1 << _RANDOM_BITS:
                self._random += 1
            else:
                # The top bit stays clear so that counting upwards has room.
                self._milliseconds, self._random = milliseconds, secrets.randbits(_RANDOM_BITS - 1)
            return self._random


_source = _Source()


def new_id(kind: Kind, at: datetime) -> str:
    """A fresh id of `kind` whose time part is `at`."""
    milliseconds = _milliseconds(at)
    return (
        kind + _encode(milliseconds, TIME_CHARACTERS) + _encode(_source.next(milliseconds), RANDOM_CHARACTERS)
    )


def first_id_at(kind: Kind, at: datetime) -> str:
    """The smallest id that `kind` can have at `at`: turns a time filter into a key range."""
    return kind + _encode(_milliseconds(at), TIME_CHARACTERS) + "0" * RANDOM_CHARACTERS


def id_time(identifier: str) -> datetime:
    """When the id was made, to the millisecond."""
    milliseconds = 0
    for character in identifier[1 : 1 + TIME_CHARACTERS]:
        milliseconds = milliseconds * 32 + ALPHABET.index(character)
    return _EPOCH + timedelta(milliseconds=milliseconds)


def _milliseconds(at: datetime) -> int:
    # In integers: as a float, a time far ahead would be rounded into its neighbour.
    return max(0, (at - _EPOCH) // timedelta(milliseconds=1))


def _encode(number: int, characters: int) -> str:
    digits = []
    for _ in range(characters):
        number, digit = divmod(number, 32)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))
