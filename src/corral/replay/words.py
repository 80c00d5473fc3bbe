"""Numbers as people read them."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def duration(seconds: float | None) -> str:
    """`45 s`, `12 min`, `2 h 04 min`, `3 d 05 h`; nothing where there is none."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{round(whole / _MINUTE)} min"
    if whole < _DAY:
        minutes = round(whole / _MINUTE)
        return f"{minutes // 60} h {minutes % 60:02} min"
    hours = round(whole / _HOUR)
    return f"{hours // 24} d {hours % 24:02} h"


def percent(number: float | None) -> str:
    return "" if number is None else f"{number:.1f} %"


def count(number: float | None) -> str:
    return f"{number or 0:,.0f}"


def gpu_hours(number: float | None) -> str:
    return f"{number or 0:,.1f} GPU-h"
