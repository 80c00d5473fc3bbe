"""Output is read in parts of any size, and never shows a secret, half a secret or half a character."""

from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from corral.engines.interface import Engine
from corral.engines.reports import LogChunk
from corral.workloads.masking import masked, unfinished_character, unfinished_secret
from corral.workloads.output import Place, read_part, tail_offset

SECRETS = (b"abcab", b"bcd", "geheimnis-ü".encode())


class Written:
    """Output as an engine keeps it: pieces with the offset at which each begins, gaps between them."""

    def __init__(self, pieces: list[tuple[int, bytes]], *, ended: bool) -> None:
        self.pieces, self.ended = pieces, ended

    async def logs(self, run: str, after: int, limit: int) -> LogChunk:
        total = max((start + len(data) for start, data in self.pieces), default=0)
        for start, data in self.pieces:
            if start + len(data) > after:
                offset = max(after, start)
                part = data[offset - start :][:limit]
                following = offset + len(part)
                ended = self.ended and following >= total
                return LogChunk(part, offset, following, offset - after, ended=ended)
        return LogChunk(b"", after, max(after, total) if self.ended else after, ended=self.ended)


async def _read(written: Written, limit: int, *, lost: bool = False) -> tuple[bytes, int, bool]:
    place = Place("w", 1, 0, "w-1-0", ended=lost, secrets=SECRETS)
    after, dropped, data = 0, 0, b""
    while True:
        part = await read_part(cast("Engine", written), place, after, limit)
        data, dropped = data + part.data, dropped + part.dropped
        if part.ended or part.next == after:
            return data, dropped, part.ended
        part.data.decode()  # whole characters only
        after = part.next


texts = st.text("abcdü☂ -geheimnis", max_size=60)


@given(texts, st.integers(4, 40))
async def test_parts_of_any_size_are_the_whole_masked_at_once(text: str, limit: int) -> None:
    whole = text.encode()
    data, dropped, ended = await _read(Written([(0, whole)], ended=True), limit)
    assert (data, dropped, ended) == (masked(whole, SECRETS), 0, True)


@given(texts, texts, st.integers(4, 40))
async def test_what_is_shown_early_is_what_is_shown_at_the_end(first: str, more: str, limit: int) -> None:
    early, _, ended = await _read(Written([(0, first.encode())], ended=False), limit)
    whole = (first + more).encode()
    assert not ended
    assert masked(whole, SECRETS).startswith(early)


@given(texts, texts, st.integers(1, 9), st.booleans())
async def test_gap_is_counted_and_holds_nothing_up(first: str, second: str, gap: int, lost: bool) -> None:
    one, other = first.encode(), second.encode()
    pieces = [(0, one), (len(one) + gap, other)] if one and other else [(0, one or other)]
    written = Written(pieces, ended=not lost)
    data, dropped, ended = await _read(written, 16, lost=lost)
    assert ended
    assert len(data) == len(one) + len(other)
    assert dropped == (gap if one and other else 0)


def test_overlapping_secrets_are_starred_as_one() -> None:
    assert masked(b"x abcabcd y", SECRETS) == b"x ******* y"
    assert masked(b"nothing", ()) == b"nothing"


def test_only_the_beginning_of_a_secret_is_held_back() -> None:
    assert unfinished_secret(b"it is abca", SECRETS) == 4
    assert unfinished_secret(b"it is abcab", SECRETS) == 2
    assert unfinished_secret(b"no secret", SECRETS) == 0
    assert unfinished_character("ü☂".encode()[:-1]) == 2
    assert unfinished_character(b"\xff\xfe") == 0


@given(st.integers(0, 300_000), st.integers(1, 20_000), st.booleans())
async def test_tail_has_at_least_what_was_asked_for_and_few_more(total: int, size: int, ended: bool) -> None:
    written = cast("Engine", Written([(0, b"x" * total)] if total else [], ended=ended))
    begin = await tail_offset(written, Place("w", 1, 0, "w-1-0", ended), size)
    assert min(total, size) <= total - begin <= size + 4096
