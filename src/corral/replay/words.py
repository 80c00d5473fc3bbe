"""Numbers as people read them."""

from corral.core.durations import duration_words


def duration(seconds: float | None) -> str:
    """Nothing where there is none."""
    return "" if seconds is None else duration_words(seconds)


def percent(number: float | None) -> str:
    return "" if number is None else f"{number:.1f} %"


def count(number: float | None) -> str:
    return f"{number or 0:,.0f}"


def gpu_hours(number: float | None) -> str:
    return f"{number or 0:,.1f} GPU-h"
