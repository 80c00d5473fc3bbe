"""The report of a simulation: true numbers, safe names, nothing from elsewhere."""

import re
from html.parser import HTMLParser

import pytest

from corral.replay.jobs import Job, Trace
from corral.replay.nodes import make_nodes
from corral.replay.policy import parse_policy
from corral.replay.report.page import write_report
from corral.replay.report.svg import steps_of, time_axis
from corral.replay.run import Replayed, replay
from corral.replay.settings import Settings
from tests.replay.test_loop import job

NODES = make_nodes(2, 2, "H100", 81920)


def replayed(policy: str, jobs: list[Job], guarantees: dict[str, int]) -> Replayed:
    return replay(parse_policy(policy), NODES, guarantees, jobs, Settings())


def report(*policies: str, queue: str = "vision") -> str:
    jobs = [job("a", queue, 0, 600, 2), job("b", queue, 0, 600, 2), job("c", "language", 5000, 60)]
    results = [replayed(policy, jobs, {queue: 2, "language": 2}) for policy in policies]
    return write_report(Trace("a trial", tuple(jobs)), results, "corral simulate --policy <x>")


class Page(HTMLParser):
    """Collects text, and checks that every element is closed."""

    VOID = frozenset({"meta", "rect", "path", "line", "circle", "br"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data.strip())


def test_answer_comes_first_with_its_numbers() -> None:
    page = Page(report("fixed", "elastic"))
    headline = page.words[page.words.index("Simulated") :]
    answer = next(words for words in headline if words.startswith("With elastic"))
    assert answer.startswith("With elastic, work waits 0 s instead of 3 min 20 s on average, and")
    assert "Nothing is evicted." in page.words
    assert page.open == []


def test_comparison_says_what_changed_and_one_policy_compares_with_nothing() -> None:
    assert "Change" in Page(report("fixed", "elastic")).words
    alone = Page(report("elastic"))
    assert "Change" not in alone.words
    assert any(words.startswith("Work waits 0 s on average") for words in alone.words)


def test_page_asks_for_nothing_from_elsewhere() -> None:
    text = report("fixed", "elastic")
    page = Page(text)
    assert page.links == []
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert re.findall(r"url\(|@import|https?://", text) == []


def test_names_are_shown_as_they_are() -> None:
    page = Page(report("fixed", "elastic", queue="<img src=x>&'"))
    assert "img" not in page.tags
    assert "<img src=x>&'" in page.words
    assert "corral simulate --policy <x>" in page.words


def test_every_chart_says_what_it_shows() -> None:
    text = report("fixed", "elastic")
    assert text.count("<svg") == text.count('role="img"') + 1  # the mark is decoration


@pytest.mark.parametrize(
    ("most", "ticks"),
    [(32, (0, 10, 20, 30, 40)), (704, (0, 200, 400, 600, 800)), (1, (0, 0.25, 0.5, 0.75, 1)), (0, (0, 1))],
)
def test_ticks_are_round_numbers(most: float, ticks: tuple[float, ...]) -> None:
    assert steps_of(most) == pytest.approx(ticks)


def test_time_is_told_in_days_or_hours() -> None:
    assert [time_axis(10 * 86_400).words(tick) for tick in time_axis(10 * 86_400).ticks][:2] == [
        "day 0",
        "day 2",
    ]
    assert time_axis(7200).words(3600) == "hour 1"
