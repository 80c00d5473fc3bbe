"""A length of time in words: 41 s, 14 min 5 s, 2 h 4 min, 3 d 5 h. `quantities.seconds` reads them."""

__all__ = ["duration_words"]

_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def duration_words(seconds: float, *, units: int = 2) -> str:
    """The largest unit that fits and at most `units` in a row, rounded down; what is over already is 0 s."""
    left = max(0, int(seconds))
    first = next((place for place, (_, size) in enumerate(_UNITS) if left >= size), len(_UNITS) - 1)
    parts: list[str] = []
    for unit, size in _UNITS[first : first + units]:
        count, left = divmod(left, size)
        if count or not parts:
            parts.append(f"{count} {unit}")
    return " ".join(parts)
