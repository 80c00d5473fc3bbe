"""Secret values in output, replaced by stars of the same length: offsets stay what they are. Without I/O.

Whoever owns work chooses both its secrets and its output, so the time for each secret grows with the length
of the data and no faster, whatever the two look like.
"""

import codecs
from collections.abc import Iterable, Iterator, Sequence

# A few of these are compared one by one, which is fastest for what people really have.
_COMPARED = 32
_OPENING = 16


def masked(data: bytes, secrets: Iterable[bytes]) -> bytes:
    """The data with every secret in it starred, also where two of them overlap."""
    stars = bytearray(data)
    for secret in secrets:
        for start, end in _covered(data, secret):
            stars[start:end] = b"*" * (end - start)
    return bytes(stars)


def unfinished_secret(data: bytes, secrets: Sequence[bytes]) -> int:
    """How many bytes at the end may be the beginning of a secret of which the rest is still to come."""
    long = (secret for secret in secrets if len(secret) > 1)
    return max((_begun(data[1 - len(secret) :], secret) for secret in long), default=0)


def reach(secrets: Iterable[bytes]) -> int:
    """How far before and after a byte one has to look to know whether it belongs to a secret."""
    return max((len(secret) for secret in secrets), default=1) - 1


def unfinished_character(data: bytes) -> int:
    """How many bytes at the end begin a UTF-8 character of which the rest is still to come."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    # No character has more than four bytes.
    decoder.decode(data[-4:].lstrip(bytes(range(0x80, 0xC0))))
    return len(decoder.getstate()[0])


def _covered(data: bytes, secret: bytes) -> Iterator[tuple[int, int]]:
    """What all places of a secret cover together; the spans may touch or overlap.

    Two places that are at most half a secret apart mean that the secret repeats itself with that period, and
    all further ones as near follow at the same distance, as long as the data repeats itself, too: they are
    one span, found at once.
    """
    size = len(secret)
    start = data.find(secret) if secret else -1
    while start >= 0:
        last = start
        near = data.find(secret, start + 1, start + size // 2 + size)
        if near >= 0:
            period = near - start
            last += (_repeats_until(data, start, period) - start - size) // period * period
        yield start, last + size
        start = data.find(secret, last + size // 2 + 1)


def _repeats_until(data: bytes, start: int, period: int) -> int:
    """How far the data from `start` on repeats itself with this period."""
    view, checked_to, step = memoryview(data), start + period, 1
    while step:
        size = min(step, len(data) - checked_to)
        if (
            size
            and view[checked_to : checked_to + size] == view[checked_to - period : checked_to - period + size]
        ):
            checked_to, step = checked_to + size, step * 2
        else:
            step //= 2
    return checked_to


def _begun(end: bytes, secret: bytes) -> int:
    """The length of the longest beginning of the secret with which `end` ends."""
    opening = secret[:_OPENING]
    start = end.find(opening)
    for _ in range(_COMPARED):
        if start < 0:
            break
        if secret.startswith(end[start:]):
            return len(end) - start
        start = end.find(opening, start + 1)
    else:
        return _begun_linear(end, secret)
    return next(
        (size for size in range(min(len(opening) - 1, len(end)), 0, -1) if end.endswith(opening[:size])), 0
    )


def _begun_linear(end: bytes, secret: bytes) -> int:
    """The same by Knuth, Morris and Pratt: slower for most, but never much slower."""
    borders = [0] * len(secret)
    length = 0
    for place in range(1, len(secret)):
        while length and secret[place] != secret[length]:
            length = borders[length - 1]
        length += secret[place] == secret[length]
        borders[place] = length
    length = 0
    for byte in end:
        while length and (length == len(secret) or secret[length] != byte):
            length = borders[length - 1]
        length += secret[length] == byte
    return length
