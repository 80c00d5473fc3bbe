"""What work prints and reports, on the page: nothing in it acts, hides or spoils the charts."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.stories import Story
from tests.browser.test_work import submit
from tests.live import LiveCorral

# A link, markup, a title that would be set, the clipboard, text turned around, and controls of eight bits.
HOSTILE = (
    r"""printf '%b' '<img src=x onerror=alert(1)> <a href="https://evil.example">here</a>\n"""
    r"""\033]0;title\007\033]52;c;ZXZpbA==\007after the title\n"""
    r"""good \0342\0200\0256evil\0342\0200\0254 text\n"""
    r"""\0302\023331mred by eight bits\n"""
    r"""the end\n'; exec sleep 600"""
)


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def test_nothing_in_the_output_acts_or_hides(admin_page: Page, story: Story) -> None:
    work = submit(story, "hostile", command=["sh", "-c", HOSTILE])
    admin_page.goto(f"/workloads/{work}?tab=log")
    output = admin_page.get_by_role("log")
    expect(output.get_by_text("the end")).to_be_visible(timeout=60_000)
    expect(
        output.get_by_text('<img src=x onerror=alert(1)> <a href="https://evil.example">here</a>')
    ).to_be_visible()
    assert output.locator("img, a, script").count() == 0
    expect(output.get_by_text("after the title", exact=True)).to_be_visible()
    expect(output.get_by_text(r"good \u202eevil\u202c text", exact=True)).to_be_visible()
    expect(output.get_by_text("red by eight bits", exact=True)).to_be_visible()
    text = output.inner_text()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)


def test_samples_ten_seconds_apart_are_a_line_and_busy_is_shown_out_of_a_hundred(
    admin_page: Page, story: Story
) -> None:
    work = submit(story, "drawn")
    begun = datetime.now(UTC).replace(microsecond=0)

    def points(value: float) -> list[dict[str, Any]]:
        # Neither the clock nor the load is exact: some are eleven seconds apart.
        moments = [begun + timedelta(seconds=second) for second in (0, 10, 21, 30, 41)]
        return [
            {"at": at.isoformat().replace("+00:00", "Z"), "lowest": 0, "mean": value, "highest": 1}
            for at in moments
        ]

    def answer(route: Route) -> None:
        items = [
            {"metric": "cpu_milli", "points": points(50)},
            {"metric": "gpu_busy_percent", "points": points(0)},
        ]
        route.fulfill(content_type="application/json", body=json.dumps({"step_seconds": 10, "items": items}))

    admin_page.route("**/api/v1/samples?*", answer)
    admin_page.goto(f"/workloads/{work}")
    cpu = admin_page.locator("figure.chart", has_text="CPU")
    busy = admin_page.locator("figure.chart", has_text="GPU utilisation")
    for chart in (cpu, busy):
        expect(chart.locator("polyline")).to_have_count(1, timeout=60_000)
        drawn = chart.locator("polyline").get_attribute("points")
        assert drawn is not None
        assert len(drawn.split()) == 5
    assert busy.locator("svg text").all_text_contents() == ["0", "50", "100"]
