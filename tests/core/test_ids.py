"""Identifiers: sort by time, never repeat, and are valid wherever they are used as names."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from corral.core.ids import LENGTH, PATTERN, Kind, first_id_at, id_time, new_id

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
INSTANTS = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - hypothesis adds the zone
    max_value=datetime(9999, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
KINDS = st.sampled_from(list(Kind))


@given(KINDS, INSTANTS)
def test_id_is_a_dns_label_of_fixed_length(kind: Kind, at: datetime) -> None:
    made = new_id(kind, at)
    assert len(made) == LENGTH
    assert made[0] == kind
    assert DNS_LABEL.fullmatch(made)
    assert re.fullmatch(PATTERN, made)


@given(KINDS, INSTANTS, INSTANTS)
def test_ids_sort_by_time(kind: Kind, one: datetime, two: datetime) -> None:
    one, two = sorted((one, two))
    if two - one >= timedelta(milliseconds=1):
        assert new_id(kind, one) < new_id(kind, two)


@given(KINDS, INSTANTS, st.integers(2, 50))
def test_ids_of_one_millisecond_keep_their_order(kind: Kind, at: datetime, count: int) -> None:
    made = [new_id(kind, at) for _ in range(count)]
    assert made == sorted(set(made))


@given(KINDS, INSTANTS)
def test_time_of_an_id_is_when_it_was_made(kind: Kind, at: datetime) -> None:
    assert abs(id_time(new_id(kind, at)) - at) <= timedelta(milliseconds=1)


@given(KINDS, INSTANTS)
def test_first_id_of_a_time_bounds_what_was_made_then(kind: Kind, at: datetime) -> None:
    made = new_id(kind, at)
    assert first_id_at(kind, at) <= made
    assert first_id_at(kind, at + timedelta(milliseconds=1)) > made


def test_threads_never_get_the_same_id() -> None:
    at = datetime(2026, 11, 15, tzinfo=UTC)
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: new_id(Kind.USER, at), range(4000)))
    assert len(set(made)) == len(made)


def test_kinds_have_letters_of_their_own() -> None:
    assert len({kind.value for kind in Kind}) == len(Kind)
    assert all(re.fullmatch("[a-z]", kind.value) for kind in Kind)
