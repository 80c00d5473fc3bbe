"""Quantities as people write them, to whole numbers of the unit that Corral counts in.

The only reader of them: API, command and documents say the same with the same text. A number is taken as the
decimal text it was written as, never as a float: 0.29 cores are 290 millicores, not 291.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from corral.core.resources import Resource

_LONGEST = 40

_NUMBER = r"([0-9]+(?:\.[0-9]+)?)"
_MIB = {
    "b": Fraction(1, 2**20),
    "ki": Fraction(1, 1024),
    "mi": Fraction(1),
    "gi": Fraction(1024),
    "ti": Fraction(1024**2),
    "k": Fraction(1000, 2**20),
    "m": Fraction(1000**2, 2**20),
    "g": Fraction(1000**3, 2**20),
    "t": Fraction(1000**4, 2**20),
}
_SECONDS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86400, "w": 604800}


@dataclass(frozen=True, slots=True)
class Gpus:
    """`count` whole ones, or with one of the others, slices of that size on as many."""

    count: int
    memory_mib: int | None = None
    fraction_milli: int | None = None
    profile: str | None = None


def written(value: object) -> str:
    """A number of a document as the text it was written as. Raises `ValueError`."""
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 10**_LONGEST:
        text = format(Decimal(repr(value)), "f")  # infinity and NaN are not numbers here
    else:
        raise ValueError("it is neither a number nor a text")
    if len(text) > _LONGEST:
        raise ValueError("it is too long to be an amount")
    return text


def mebibytes(text: str) -> int:
    """`8Gi`, `512MiB`, `1.5G`; what is not whole is rounded up. Raises `ValueError`."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*([KMGT]i?B?|B)\s*", written(text), re.IGNORECASE)
    if match is None:
        raise ValueError("a size has a number and a unit, such as 512Mi or 8Gi")
    unit = match[2].lower()
    return _up(Fraction(match[1]) * _MIB[unit if unit == "b" else unit.removesuffix("b")])


def millicores(text: str) -> int:
    """`2`, `0.5`, `500m`; what is not whole is rounded up. Raises `ValueError`."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*(m|cores?|cpus?)?\s*", written(text), re.IGNORECASE)
    if match is None:
        raise ValueError("CPU is a number of cores, such as 2 or 0.5, or of millicores, such as 500m")
    return _up(Fraction(match[1]) * (1 if match[2] and match[2].lower() == "m" else 1000))


def millicores_with_unit(text: str) -> int:
    """For a field that counts millicores: text has its unit, as `500` may be either. Raises `ValueError`."""
    if re.fullmatch(_NUMBER, written(text)):
        raise ValueError(
            f"this field counts millicores, and {text!r} may be meant as cores: write cpu: {text} for cores,"
            f" or {text} without quotes for millicores"
        )
    return millicores(text)


def gpus(text: str) -> Gpus | None:
    """`2` whole ones, `8Gi`, `0.5` or `1g.10gb` of one, `2x8Gi` on two, `0` none. Raises `ValueError`."""
    count, size = re.fullmatch(r"(?:([0-9]+)x)?(.*)", written(text), re.DOTALL).groups()  # type: ignore[union-attr]
    number = int(count or 1)
    if number:
        if re.fullmatch(r"[0-9]+g\.[0-9]+gb(\+[a-z.]+)?", size, re.IGNORECASE):
            return Gpus(number, profile=size)
        if re.fullmatch(rf"{_NUMBER}\s*[KMGT]i?B?", size, re.IGNORECASE):
            return Gpus(number, memory_mib=mebibytes(size))
        if re.fullmatch(r"0?\.[0-9]{1,3}0*", size) and (milli := Fraction(f"0{size.lstrip('0')}") * 1000):
            return Gpus(number, fraction_milli=int(milli))
        if count is None and re.fullmatch(r"[0-9]+(\.0+)?", size):
            return Gpus(int(Fraction(size))) if Fraction(size) else None
    raise ValueError("write 2 for two GPUs, 8Gi, 0.5 or 1g.10gb for a part of one, 2x8Gi for parts of two")


def seconds(text: str) -> int:
    """`90s`, `30min`, `2h`, `1d 12h`; what is not whole is rounded up. Raises `ValueError`."""
    text = written(text)
    parts = re.findall(rf"{_NUMBER}\s*([a-z]+)", text.lower())
    whole = re.fullmatch(rf"\s*(?:{_NUMBER}\s*[a-z]+\s*)+", text.lower())
    if whole is None or any(unit not in _SECONDS for _, unit in parts):
        raise ValueError("a time has a number and a unit, such as 90s, 30min, 2h or 1d")
    return _up(sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction()))


def gpu_milli(text: str) -> int:
    """`2` or `0.5` GPUs in thousandths. Raises `ValueError`."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*", written(text))
    milli = None if match is None else Fraction(match[1]) * 1000
    if milli is None or milli.denominator != 1:
        raise ValueError("GPUs are a number such as 2 or 0.5, in steps of a thousandth")
    return milli.numerator


def amount(text: str, resource: Resource) -> int:
    """In the unit of the resource: `2.5` GPUs are 2500, `500m` of CPU 500, `16Gi` of memory 16384."""
    read = {
        Resource.GPU_MILLI: gpu_milli,
        Resource.CPU_MILLI: millicores,
        Resource.MEMORY_MIB: mebibytes,
    }
    return read[resource](text)


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
