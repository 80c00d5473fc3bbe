"""Output is read in parts of any size, and never shows a secret, half a secret or half a character."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.engines.interface import Engine
from corral.engines.reports import LogChunk
from corral.workloads.masker import Masker, part_limit
from corral.workloads.masking import masked, unfinished_character, unfinished_secret
from corral.workloads.output import Place, read_part, tail_offset

MASKER = Masker()
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
        part = await read_part(cast("Engine", written), MASKER, place, after, limit)
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


def _plain(data: bytes, secrets: tuple[bytes, ...]) -> bytes:
    """Every place of every secret, one by one: slow, and right by its looks."""
    stars = bytearray(data)
    for secret in secrets:
        for start in range(len(data)):
            if data.startswith(secret, start):
                stars[start : start + len(secret)] = b"*" * len(secret)
    return bytes(stars)


repeating = st.text("ab", min_size=1, max_size=12).map(str.encode)


@given(st.lists(repeating, min_size=1, max_size=3), st.lists(repeating, max_size=8), st.integers(1, 6))
def test_secrets_that_repeat_themselves_are_starred_everywhere(
    secrets: list[bytes], words: list[bytes], times: int
) -> None:
    data = b"".join([*words, secrets[0] * times, *words])
    assert masked(data, secrets) == _plain(data, tuple(secrets))


@given(repeating, st.lists(repeating, max_size=8), st.integers(0, 12))
def test_a_secret_that_has_begun_is_held_back_whatever_it_looks_like(
    secret: bytes, words: list[bytes], begun: int
) -> None:
    data = b"".join([*words, secret[:begun]])
    sizes = (size for size in range(len(secret) - 1, 0, -1) if data.endswith(secret[:size]))
    assert unfinished_secret(data, (secret,)) == next(sizes, 0)


def _cpu(work: Callable[[], object]) -> float:
    """The least of some runs: what else happens on the machine only adds."""
    taken = []
    for _ in range(5):
        begun = time.thread_time()
        work()
        taken.append(time.thread_time() - begun)
    return min(taken)


@pytest.mark.parametrize(
    "make",
    [
        lambda size: (b"a" * size, b"a" * (size // 32)),
        lambda size: (b"a" * size, b"a" * (size // 64) + b"b" + b"a" * (size // 64)),
        lambda size: (b"aaaaaaab" * (size // 8), b"aaaaaaab" * (size // 256)),
        lambda size: (b"abcdX" * (size // 5), b"abcd"),
    ],
    ids=["equal characters", "one that never comes", "a word again and again", "many places"],
)
def test_masking_takes_time_in_proportion(make: Callable[[int], tuple[bytes, bytes]]) -> None:
    """Four times the output and a secret four times as long: about four times the work, not sixteen times."""
    spent = []
    for size in (2**16, 2**18):
        data, secret = make(size)
        spent.append(_cpu(lambda d=data, s=secret: (masked(d, (s,)), unfinished_secret(d, (s,)))))  # type: ignore[misc]
    assert spent[1] < 10 * spent[0], spent


async def test_masking_leaves_the_event_loop_alone() -> None:
    """And one person has one thread of it, however much they ask for."""
    ran: list[str] = []
    first_may_end, masker = threading.Event(), Masker()

    def slow() -> None:
        ran.append(threading.current_thread().name)
        first_may_end.wait(20)

    greedy = [asyncio.create_task(masker.run("greedy", slow)) for _ in range(4)]
    await asyncio.wait_for(masker.run("other", lambda: ran.append("other")), 20)
    assert len(ran) == 2, "one of the four, and the other person's"
    first_may_end.set()
    await asyncio.gather(*greedy)
    masker.close()
    assert all(name.startswith("corral-mask") for name in ran if name != "other")


def test_many_secrets_make_parts_smaller() -> None:
    assert part_limit(2**20, 0) == part_limit(2**20, 256) == 2**20
    assert part_limit(2**20, 30_000) < 16 * 1024
