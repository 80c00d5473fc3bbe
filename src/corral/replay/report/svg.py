"""Charts as SVG elements. Colours and type are classes of the page's style: they follow light and dark.

A chart is drawn on a fixed grid of units; the page scales it. Everything has a text beside it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element, SubElement

WIDTH = 1080
LEFT, RIGHT, TOP, BOTTOM = 56, 132, 12, 28


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from 0 to `most`, with ticks and their words."""

    most: float
    ticks: tuple[float, ...]
    words: Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Line:
    name: str
    style: str
    values: tuple[float, ...]


def steps_of(most: float, count: int = 4, sizes: Sequence[float] = (1, 2, 2.5, 5, 10)) -> tuple[float, ...]:
    """Round numbers from 0 to at least `most`."""
    if most <= 0:
        return 0.0, 1.0
    power = 10 ** math.floor(math.log10(most / count))
    step = next(size * power for size in sizes if size * power * count >= most - 1e-9)
    return tuple(step * number for number in range(math.ceil(most / step - 1e-9) + 1))


def number_axis(most: float, unit: str = "") -> Axis:
    ticks = steps_of(most)
    return Axis(ticks[-1], ticks, lambda value: f"{value:,.10g}{unit}")


def time_axis(seconds: float) -> Axis:
    """Days, or hours where there are few of them."""
    unit, word = (86_400, "day") if seconds > 3 * 86_400 else (3600, "hour")
    ticks = steps_of(seconds / unit, 8, (1, 2, 5, 10))
    inside = tuple(tick * unit for tick in ticks if tick * unit <= seconds * 1.001)
    return Axis(seconds, inside, lambda value: f"{word} {value / unit:,.10g}")


def frame(height: int, title: str, across: Axis, up: Axis) -> Element:
    """A chart with its hairlines and ticks."""
    chart = Element("svg", {"viewBox": f"0 0 {WIDTH} {height}", "role": "img", "aria-label": title})
    for tick in up.ticks:
        y = _y(tick, up, height)
        SubElement(chart, "line", _ends(LEFT, y, WIDTH - RIGHT, y) | {"class": "grid"})
        _text(chart, LEFT - 8, y + 4, up.words(tick), "tick end")
    for tick in across.ticks:
        _text(chart, _x(tick, across), height - 8, across.words(tick), "tick middle")
    return chart


def lines_chart(title: str, lines: Sequence[Line], seconds: float, capacity: float, unit: str) -> Element:
    """Means per interval as steps, each line named at its end; the capacity is dashed."""
    height = 220
    most = max([capacity, *(max(line.values, default=0) for line in lines)])
    across, up = time_axis(seconds), number_axis(most)
    chart = frame(height, title, across, up)
    y = _y(capacity, up, height)
    SubElement(chart, "line", _ends(LEFT, y, WIDTH - RIGHT, y) | {"class": "capacity"})
    _text(chart, WIDTH - RIGHT + 8, y + 4, f"{capacity:,.10g} {unit}", "tick")
    for line in lines:
        SubElement(chart, "path", {"d": _steps(line.values, up, height), "class": f"line {line.style}"})
    ends = [(_y(line.values[-1], up, height), line) for line in lines if line.values]
    _name_ends(chart, ends, keep_clear=y, height=height)
    return chart


def areas_chart(title: str, lines: Sequence[Line], seconds: float) -> Element:
    """What waits: areas from the axis up, the later ones in front."""
    height = 180
    across = time_axis(seconds)
    up = number_axis(max(max(line.values, default=0) for line in lines))
    chart = frame(height, title, across, up)
    floor = _y(0, up, height)
    for line in lines:
        path = _steps(line.values, up, height)
        closed = f"{path} L{WIDTH - RIGHT:.1f} {floor:.1f} L{LEFT:.1f} {floor:.1f} Z"
        SubElement(chart, "path", {"d": closed, "class": f"area {line.style}"})
    return chart


def stack_chart(title: str, lines: Sequence[Line], seconds: float, capacity: float) -> Element:
    """Who holds what: one layer per queue, the first at the bottom."""
    height = 220
    across, up = time_axis(seconds), number_axis(capacity)
    chart = frame(height, title, across, up)
    below = [0.0] * len(lines[0].values)
    for line in lines:
        top = [low + value for low, value in zip(below, line.values, strict=True)]
        back = _steps(below, up, height, backwards=True)
        path = f"{_steps(top, up, height)} {back} Z"
        layer = SubElement(chart, "path", {"d": path, "class": f"layer {line.style}"})
        SubElement(layer, "title").text = line.name
        below = top
    return chart


@dataclass(frozen=True, slots=True)
class Pair:
    """A queue under the first and the last policy that are compared."""

    name: str
    style: str
    before: float
    after: float


def pairs_chart(title: str, pairs: Sequence[Pair], axis: Axis, *, single: bool) -> Element:
    """A ring before, a disc after, on one scale for all."""
    row, left, width = 34, 132, 460
    height = row * len(pairs) + BOTTOM + 6
    chart = Element("svg", {"viewBox": f"0 0 {width} {height}", "role": "img", "aria-label": title})

    def at(value: float) -> float:
        return left + (width - left - 44) * value / axis.most

    for tick in axis.ticks:
        SubElement(chart, "line", _ends(at(tick), 0, at(tick), height - BOTTOM) | {"class": "grid"})
        _text(chart, at(tick), height - 8, axis.words(tick), "tick middle")
    for number, pair in enumerate(pairs):
        y = row * number + row / 2
        before, after = at(pair.before), at(pair.after)
        _text(chart, 0, y + 4, pair.name, "name")
        if not single:
            SubElement(chart, "line", _ends(before, y, after, y) | {"class": f"join {pair.style}"})
            SubElement(chart, "circle", _disc(before, y) | {"class": f"ring {pair.style}"})
        SubElement(chart, "circle", _disc(after, y) | {"class": f"disc {pair.style}"})
        apart = abs(before - after) > 12
        if single or apart:
            beside = (after + 10, "tick") if single or after > before else (after - 10, "tick end")
            _text(chart, beside[0], y + 4, _short(pair.after), beside[1])
        if apart and not single:
            beside = (before + 10, "tick") if before > after else (before - 10, "tick end")
            _text(chart, beside[0], y + 4, _short(pair.before), beside[1])
    return chart


def _name_ends(chart: Element, ends: Sequence[tuple[float, Line]], *, keep_clear: float, height: int) -> None:
    """Names at the ends of lines, moved apart where they would touch."""
    taken = [keep_clear]
    for wanted, line in sorted(ends, key=lambda end: end[0]):
        y = min(wanted, height - BOTTOM)
        while any(abs(y - other) < 15 for other in taken):
            y += 1
        taken.append(y)
        _text(chart, WIDTH - RIGHT + 8, y + 4, line.name, f"label {line.style}")


def _steps(values: Sequence[float], up: Axis, height: int, *, backwards: bool = False) -> str:
    width = (WIDTH - LEFT - RIGHT) / max(1, len(values))
    points = []
    for number, value in enumerate(values):
        y = _y(value, up, height)
        points += [(LEFT + number * width, y), (LEFT + (number + 1) * width, y)]
    if backwards:
        points.reverse()
    words = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f"{'L' if backwards else 'M'}{words}"


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def _x(value: float, across: Axis) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * value / across.most


def _y(value: float, up: Axis, height: int) -> float:
    return height - BOTTOM - (height - TOP - BOTTOM) * value / up.most


def _ends(x1: float, y1: float, x2: float, y2: float) -> dict[str, str]:
    return {"x1": f"{x1:.1f}", "y1": f"{y1:.1f}", "x2": f"{x2:.1f}", "y2": f"{y2:.1f}"}


def _disc(x: float, y: float) -> dict[str, str]:
    return {"cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "5"}


def _text(chart: Element, x: float, y: float, words: str, style: str) -> None:
    SubElement(chart, "text", {"x": f"{x:.1f}", "y": f"{y:.1f}", "class": style}).text = words
