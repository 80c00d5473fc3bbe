"""Quantities as people write them, to whole numbers of the unit that Corral counts in.

A bare number is in the unit of the field it is given for; text carries its own: `8Gi`, `500m`, `2h 30min`.
"""

import re
from fractions import Fraction

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


def mebibytes(text: str) -> int:
    """`8Gi`, `512MiB`, `1.5G`; what is not whole is rounded up. Raises `ValueError`."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*([KMGT]i?B?|B)\s*", text, re.IGNORECASE)
    if match is None:
        raise ValueError("a size has a number and a unit, such as 512Mi or 8Gi")
    unit = match[2].lower()
    return _up(Fraction(match[1]) * _MIB[unit if unit == "b" else unit.removesuffix("b")])


def millicores(text: str) -> int:
    """`2`, `0.5`, `500m`; what is not whole is rounded up. Raises `ValueError`."""
    match = re.fullmatch(rf"\s*{_NUMBER}\s*(m|cores?|cpus?)?\s*", text, re.IGNORECASE)
    if match is None:
        raise ValueError("CPU is a number of cores, such as 2 or 0.5, or of millicores, such as 500m")
    return _up(Fraction(match[1]) * (1 if match[2] and match[2].lower() == "m" else 1000))


def seconds(text: str) -> int:
    """`90s`, `30min`, `2h`, `1d 12h`; what is not whole is rounded up. Raises `ValueError`."""
    parts = re.findall(rf"{_NUMBER}\s*([a-z]+)", text.lower())
    whole = re.fullmatch(rf"\s*(?:{_NUMBER}\s*[a-z]+\s*)+", text.lower())
    if whole is None or any(unit not in _SECONDS for _, unit in parts):
        raise ValueError("a time has a number and a unit, such as 90s, 30min, 2h or 1d")
    return _up(sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction()))


def _up(value: Fraction) -> int:
    return -(-value.numerator // value.denominator)
