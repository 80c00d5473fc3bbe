"""Secret values in output, replaced by stars of the same length: offsets stay what they are. Without I/O."""

import codecs
from collections.abc import Iterable, Sequence


def masked(data: bytes, secrets: Iterable[bytes]) -> bytes:
    """The data with every secret in it starred, also where two of them overlap."""
    spans = [span for secret in secrets for span in _found(data, secret)]
    if not spans:
        return data
    stars = bytearray(data)
    for start, end in spans:
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
    decoder.decode(data)
    return len(decoder.getstate()[0])


def _found(data: bytes, secret: bytes) -> Iterable[tuple[int, int]]:
    start = data.find(secret) if secret else -1
    while start >= 0:
        yield start, start + len(secret)
        start = data.find(secret, start + 1)


def _begun(end: bytes, secret: bytes) -> int:
    start = end.find(secret[:1])
    while start >= 0:
        if secret.startswith(end[start:]):
            return len(end) - start
        start = end.find(secret[:1], start + 1)
    return 0
