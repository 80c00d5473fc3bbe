"""What holds for every amount: it is exact, rounds up, and the same whichever unit it is written in."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corral.core import quantities
from corral.core.quantities import Gpus

whole = st.integers(0, 10**6)
decimals = st.decimals(0, 10**6, places=3, allow_nan=False, allow_infinity=False).map(lambda one: f"{one:f}")
FACTORS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86400, "w": 604800}
SIZES = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def rounded_up(exact: Fraction, given: int) -> bool:
    return given - 1 < exact <= given


@given(decimals)
def test_cores_are_exact_thousandths_and_round_up(text: str) -> None:
    assert quantities.millicores(text) == Fraction(text) * 1000
    assert rounded_up(Fraction(text), quantities.millicores(f"{text}m"))


@given(decimals, st.sampled_from(sorted(SIZES)), st.sampled_from(["", "B", "b"]))
def test_size_is_that_of_its_unit_rounded_up(text: str, unit: str, ending: str) -> None:
    assert rounded_up(Fraction(text) * SIZES[unit] / 2**20, quantities.mebibytes(f"{text}{unit}{ending}"))
    assert quantities.mebibytes(f" {text} {unit.lower()} ") == quantities.mebibytes(text + unit)


@given(st.lists(st.tuples(decimals, st.sampled_from(sorted(FACTORS))), min_size=1, max_size=2))
def test_time_is_the_sum_of_its_parts_rounded_up(parts: list[tuple[str, str]]) -> None:
    exact = sum((Fraction(number) * FACTORS[unit] for number, unit in parts), Fraction())
    text = " ".join(f"{number}{unit}" for number, unit in parts)
    assert rounded_up(exact, quantities.seconds(text))


@given(st.integers(1, 999), st.integers(1, 10**4), st.integers(1, 999))
def test_gpus_keep_count_and_part_apart(count: int, size: int, milli: int) -> None:
    assert quantities.gpus(str(count)) == Gpus(count)
    assert quantities.gpus(f"{count}x{size}Gi") == Gpus(count, memory_mib=size * 1024)
    assert quantities.gpus(f"{count}x0.{milli:03}") == Gpus(count, fraction_milli=milli)


@given(st.floats(0.001, 10**6).map(lambda one: round(one, 3)))
def test_number_is_read_as_it_was_written(number: float) -> None:
    assert quantities.millicores(quantities.written(number)) == Fraction(repr(number)) * 1000


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("1.5h", 5400), ("1d 12h", 129_600), ("0.1s", 1), ("2W", 1_209_600)]
)
def test_times(text: str, seconds: int) -> None:
    assert quantities.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "90", "h", "1y", "1h30", "-1s", "1 h x", "1e3s"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="30min"):
        quantities.seconds(text)


@given(st.text(max_size=45))
def test_any_text_is_an_amount_or_refused(text: str) -> None:
    for read in (quantities.mebibytes, quantities.millicores, quantities.seconds):
        with contextlib.suppress(ValueError):
            assert read(text) >= 0
