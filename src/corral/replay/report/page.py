"""The page: the answer first, then the evidence, then how it was made."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from string import Template
from xml.etree.ElementTree import Element, SubElement, tostring

from corral.core.resources import WHOLE_DEVICE_MILLI
from corral.replay.jobs import Trace
from corral.replay.report.facts import FACTS, answer_of, change, judged
from corral.replay.report.svg import (
    Line,
    Pair,
    areas_chart,
    lines_chart,
    number_axis,
    pairs_chart,
    stack_chart,
)
from corral.replay.run import Replayed
from corral.replay.series import capacity_means, edges_of, interval_means
from corral.replay.summary import Summary, WorkSummary
from corral.replay.words import duration, percent

_INTERVALS = 240
_COLOURS = 8
_MOST_QUEUES = 12


_MEANINGS = {
    "Allocated": "GPU time held against GPU time there was, until the last arrival.",
    "Wait": "Until the first start. Completion counts from arrival, evictions and resumes included.",
    "Of its share": "Division gives every queue a share for what it asks at the moment; this is the part of"
    " it that the queue held.",
    "Not simulated": "Work that slows down because of its neighbours; people who act on what they see; the"
    " time that images and data take to arrive.",
}

_WITHIN = (60, 600, 3600, 36_000, 86_400)


def write_report(trace: Trace, results: Sequence[Replayed], command: str) -> str:
    """The whole page as text."""
    summaries = [result.summary for result in results]
    styles = _queue_styles(results)
    answer, consequence = answer_of(summaries)
    last = results[-1]
    template = Template(files("corral.replay.report").joinpath("template.html").read_text("utf-8"))
    return template.substitute(
        work=escape(trace.name),
        answer=escape(answer),
        consequence=escape(consequence),
        scene=escape(_scene(trace, results)),
        compared=escape("Compared" if len(results) > 1 else last.summary.policy),
        facts=_html(_facts(summaries)),
        pair_key=_pair_key(summaries),
        within=_html(_within(results)),
        waits=_html(_waits(summaries, styles)),
        line_key=_keys((summary.policy, f"p{number}", "") for number, summary in enumerate(summaries)),
        allocated=_html(_allocated(results)),
        waiting=_html(_waiting(results)),
        last=escape(last.summary.policy),
        queue_key=_keys((name, style, "box") for name, style in styles.items()),
        held=_html(_held(last, styles)),
        queues="".join(_queue_section(summary, styles) for summary in summaries),
        made=_made(trace, results, command),
    )


def _facts(summaries: Sequence[Summary]) -> Element:
    compared = len(summaries) > 1
    table = _table(["", *(summary.policy for summary in summaries), *(["Change"] if compared else [])])
    for name, value, words, less_is_better in FACTS:
        values = [value(summary) for summary in summaries]
        row = SubElement(table, "tr")
        SubElement(row, "td").text = name
        for number, each in enumerate(values):
            style = "main" if number == len(values) - 1 else "less"
            SubElement(row, "td", {"class": style}).text = words(each)
        if compared:
            style = judged(values[0], values[-1], less_is_better=less_is_better)
            SubElement(row, "td", {"class": style}).text = change(values[0], values[-1], words)
    return table


def _scene(trace: Trace, results: Sequence[Replayed]) -> str:
    nodes = len(results[-1].cluster.nodes)
    summary = results[-1].summary
    return (
        f"{summary.all.workloads:,} workloads of {trace.name} on {nodes:,} nodes with {summary.gpus:,} GPUs,"
        f" {duration(summary.seconds)} of virtual time. No real cluster was measured."
    )


def _within(results: Sequence[Replayed]) -> Element:
    """How much of the work had started after a minute, an hour, a day."""
    table = _table(["Started within", *(result.summary.policy for result in results)])
    for seconds in _WITHIN:
        row = SubElement(table, "tr")
        SubElement(row, "td").text = duration(seconds)
        for number, result in enumerate(results):
            jobs = result.recording.jobs
            started = sum(
                record.first_start is not None and record.first_start - record.job.arrives <= seconds
                for record in jobs
            )
            style = "main" if number == len(results) - 1 else "less"
            SubElement(row, "td", {"class": style}).text = percent(100 * started / len(jobs))
    return table


def _pair_key(summaries: Sequence[Summary]) -> str:
    if len(summaries) == 1:
        return ""
    return _keys([(summaries[0].policy, "p0", "hole"), (summaries[-1].policy, "p0", "dot")])


def _waits(summaries: Sequence[Summary], styles: dict[str, str]) -> Element:
    first = {queue.queue: queue for queue in summaries[0].queues}
    pairs = []
    for queue in _busiest(summaries[-1]):
        name = queue.queue or ""
        before = first[queue.queue].wait.mean or 0.0
        pairs.append(Pair(name, styles[name], before, queue.wait.mean or 0.0))
    most = max((max(pair.before, pair.after) for pair in pairs), default=0.0)
    unit, word = (86_400, "d") if most > 172_800 else (3600, "h") if most > 7200 else (60, "min")
    scaled = [Pair(pair.name, pair.style, pair.before / unit, pair.after / unit) for pair in pairs]
    axis = number_axis(most / unit, f" {word}")
    return pairs_chart("Mean wait by queue", scaled, axis, single=len(summaries) == 1)


def _allocated(results: Sequence[Replayed]) -> Element:
    lines = []
    for number, result in enumerate(results):
        edges = edges_of(result.recording, _INTERVALS)
        held = interval_means(result.recording.held, len(result.recording.queues), edges).sum(axis=0)
        lines.append(Line(result.summary.policy, f"p{number}", tuple(held / WHOLE_DEVICE_MILLI)))
    edges = edges_of(results[-1].recording, _INTERVALS)
    capacity = float(capacity_means(results[-1].recording, edges).max()) / WHOLE_DEVICE_MILLI
    return lines_chart("GPUs allocated over time", lines, edges[-1] - edges[0], capacity, "GPUs")


def _waiting(results: Sequence[Replayed]) -> Element:
    lines = []
    for number, result in enumerate(results):
        edges = edges_of(result.recording, _INTERVALS)
        wanted = interval_means(result.recording.waiting, len(result.recording.queues), edges).sum(axis=0)
        lines.append(Line(result.summary.policy, f"p{number}", tuple(wanted / WHOLE_DEVICE_MILLI)))
    edges = edges_of(results[-1].recording, _INTERVALS)
    return areas_chart("GPUs wanted and waiting over time", lines, edges[-1] - edges[0])


def _held(result: Replayed, styles: dict[str, str]) -> Element:
    recording = result.recording
    edges = edges_of(recording, _INTERVALS)
    held = interval_means(recording.held, len(recording.queues), edges) / WHOLE_DEVICE_MILLI
    lines = [
        Line(name, styles[name], tuple(held[number]))
        for number, name in enumerate(recording.queues)
        if name in styles
    ]
    lines.sort(key=lambda line: line.style)
    return stack_chart("GPUs held by each queue", lines, edges[-1] - edges[0], result.summary.gpus)


def _queue_section(summary: Summary, styles: dict[str, str]) -> str:
    section = Element("section")
    SubElement(section, "h2").text = f"Queues, {summary.policy}"
    wide = SubElement(section, "div", {"class": "wide"})
    heads = "Queue,Guarantee,Workloads,Never started,Mean wait,Half below,99 of 100 below"
    table = _table([*heads.split(","), "Mean completion", "Evictions", "Of its share"])
    wide.append(table)
    for queue in summary.queues:
        row = SubElement(table, "tr")
        first = SubElement(row, "td")
        edge = SubElement(first, "span", {"class": f"edge {styles[queue.queue or '']}"})
        edge.tail = queue.queue
        for text in _queue_cells(queue):
            SubElement(row, "td").text = text
    return _html(section)


def _queue_cells(queue: WorkSummary) -> list[str]:
    return [
        "" if queue.guarantee_gpus is None else f"{queue.guarantee_gpus:,.0f} GPUs",
        f"{queue.workloads:,}",
        f"{queue.never_started:,}",
        duration(queue.wait.mean),
        duration(queue.wait.p50),
        duration(queue.wait.p99),
        duration(queue.completion.mean),
        f"{queue.evictions:,}",
        percent(queue.of_share_percent),
    ]


def _made(trace: Trace, results: Sequence[Replayed], command: str) -> str:
    summary = results[-1].summary
    rows = {
        "Command": f"<code>{escape(command)}</code>",
        **_MEANINGS,
        "Planned by": f"the scheduler itself, in {summary.cycles:,} cycles and"
        f" {summary.plan_cpu_seconds:,.1f} s of CPU ({escape(summary.policy)}).",
    }
    if trace.notes:
        rows["Left out"] = escape(" ".join(trace.notes))
    return "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows.items())


def _busiest(summary: Summary) -> list[WorkSummary]:
    """The queues with the most work, by name; more would not be read."""
    chosen = sorted(summary.queues, key=lambda queue: (-queue.workloads, queue.queue or ""))[:_MOST_QUEUES]
    return sorted(chosen, key=lambda queue: queue.queue or "")


def _queue_styles(results: Sequence[Replayed]) -> dict[str, str]:
    """A colour for every queue; from the eighth on they share the last."""
    names = [queue.queue or "" for queue in results[-1].summary.queues]
    return {name: f"c{min(number + 1, _COLOURS)}" for number, name in enumerate(names)}


def _table(heads: Iterable[str]) -> Element:
    table = Element("table")
    row = SubElement(table, "tr")
    for head in heads:
        SubElement(row, "th", {"scope": "col"}).text = head
    return table


def _keys(entries: Iterable[tuple[str, str, str]]) -> str:
    keys = []
    for name, style, shape in entries:
        key = Element("span", {"class": "key"})
        SubElement(key, "i", {"class": f"{style} {shape}"}).tail = name
        keys.append(_html(key))
    return " ".join(keys)


def _html(element: Element) -> str:
    return tostring(element, encoding="unicode", method="html")
