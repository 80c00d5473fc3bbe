"""Zones in the console: a simulated one is added, used and deleted by clicks; two zones read well."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import assert_fits_the_screen, assert_translated, each_language
from tests.browser.stories import Story, choose, open_panel, row
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


@pytest.fixture
def lab(story: Story) -> Iterator[str]:
    """A simulated zone beside this machine; its id."""
    made = story.call("POST", "/zones", {"name": "second", "nodes": "2x4xL4-24GB"})
    yield str(made["id"])
    story.call("DELETE", f"/zones/{made['id']}")


def test_open_view_is_marked_also_where_the_address_names_the_first(admin_page: Page) -> None:
    for address, name in (("/nodes", "Zones"), ("/nodes?tab=zones", "Zones"), ("/nodes?tab=pools", "Pools")):
        admin_page.goto(address)
        views = admin_page.get_by_role("navigation", name="Zones and nodes")
        expect(views.locator("[aria-current=page]")).to_have_text(re.compile(f"^{name}"))


def test_simulated_zone_is_added_used_and_deleted_by_clicks(
    admin_page: Page, story: Story, watch: Any
) -> None:
    admin_page.goto("/nodes")
    expect(admin_page.locator(".answer")).to_contain_text("1 zone. All are ready.")
    expect(row(admin_page, "local")).to_contain_text("machine")
    admin_page.get_by_role("button", name="Add simulated zone").click()
    panel = open_panel(admin_page, "Add simulated zone")
    panel.get_by_label("Name").fill("lab")
    panel.get_by_label("Nodes to simulate").fill("4 large ones")
    watch.allow_answer(422, r"^/api/v1/zones$")
    panel.get_by_role("button", name="Add zone").click()
    expect(panel.locator(".ant-form-item-explain-error")).to_contain_text("4x8xH100-80GB")
    panel.get_by_label("Nodes to simulate").fill("2x4xH100-80GB")
    panel.get_by_role("button", name="As command").click()
    expect(admin_page.get_by_text("corral zone add lab --simulated 2x4xH100-80GB")).to_be_visible()
    panel.get_by_role("button", name="Add zone").click()
    opened = open_panel(admin_page, "lab")
    expect(opened).to_contain_text("nothing is computed")
    expect(row(admin_page, "lab")).to_contain_text("Ready")
    opened.get_by_role("link", name="2 nodes").click()
    expect(row(admin_page, "h100-80gb-2")).to_be_visible()
    expect(admin_page.locator("tr.ant-table-row")).to_have_count(2)
    assert "zone=z" in admin_page.url
    admin_page.get_by_role("link", name="Devices").click()
    expect(admin_page.locator("tr.ant-table-row")).to_have_count(8)
    admin_page.get_by_text("All zones", exact=True).click()
    expect(row(admin_page, "lab / default").first).to_be_visible()
    expect(row(admin_page, "local / default").first).to_be_visible()

    launch(admin_page)
    admin_page.wait_for_url(re.compile("/workloads/w"))
    expect(
        admin_page.get_by_text(re.compile(r"Runs on h100-80gb-1, h100-80gb-2 for \d+ s\."))
    ).to_be_visible()
    facts = admin_page.locator(".fact-line")
    expect(facts).to_contain_text("lab, simulated")
    expect(facts).to_contain_text("chosen at launch")
    long = {
        "name": "long",
        "command": ["true"],
        "resources": {"cpu": 1, "memory": "1Gi"},
        "zone": "lab",
        "simulation": {"duration": "1h"},
    }
    work = story.call("POST", "/training", long)["id"]
    delete(admin_page)
    dialog = admin_page.get_by_role("dialog")
    watch.allow_answer(409, r"^/api/v1/zones/")
    dialog.get_by_role("button", name="Delete zone").click()
    expect(dialog).to_contain_text(re.compile(r"Work is still in it: .*long"))
    dialog.get_by_role("button", name="Keep zone").click()
    story.call("POST", "/workloads/actions", {"action": "stop", "ids": [work]})

    admin_page.goto("/training")
    expect(row(admin_page, "night")).to_contain_text("lab")
    expect(row(admin_page, "night")).to_contain_text("Succeeded", timeout=60_000)
    expect(row(admin_page, "long")).to_contain_text("Stopped", timeout=60_000)
    delete(admin_page)
    admin_page.get_by_role("dialog").get_by_role("button", name="Delete zone").click()
    expect(row(admin_page, "lab")).to_have_count(0)
    expect(admin_page.locator(".answer")).to_contain_text("1 zone.")
    admin_page.goto("/audit")
    expect(admin_page.get_by_text(re.compile("deleted the zone", re.IGNORECASE)).first).to_be_visible()


def launch(page: Page) -> None:
    """Twenty seconds on all GPUs of the lab."""
    page.goto("/training/launch")
    expect(page.get_by_text("Zone local: the only one for such work.")).to_be_visible()
    page.get_by_label("Name", exact=True).fill("night")
    choose(page, "Zone", "lab, simulated")
    page.get_by_text("Custom amounts", exact=True).click()
    page.get_by_text("Whole", exact=True).click()
    page.get_by_label("How many", exact=True).fill("4")
    page.get_by_label("Takes", exact=True).fill("20s")
    page.get_by_role("button", name=re.compile("^Replicas")).click()
    page.get_by_role("spinbutton", name="Replicas").fill("2")
    expect(page.locator(".answer")).to_have_text("Fits now on h100-80gb-1, h100-80gb-2.")
    expect(page.get_by_text("Zone lab: you chose it.")).to_be_visible()
    expect(page.locator("pre.command").first).to_contain_text("--simulate 20s")
    expect(page.locator("pre.command").last).to_contain_text("duration: 20s")
    page.get_by_role("button", name="Launch", exact=True).click()


def delete(page: Page) -> None:
    page.goto("/nodes")
    row(page, "lab").click()
    open_panel(page, "lab").get_by_role("button", name="Delete zone").click()
    page.get_by_role("dialog").get_by_role("textbox").fill("lab")


def test_every_zone_answers_where_corral_chooses(admin_page: Page, story: Story, lab: str) -> None:
    third = story.call("POST", "/zones", {"name": "third", "nodes": "1x1xL4-24GB"})["id"]
    try:
        admin_page.goto("/training/launch")
        choose(admin_page, "Zone", "Any simulated zone")
        admin_page.get_by_text("Custom amounts", exact=True).click()
        admin_page.get_by_text("Whole", exact=True).click()
        admin_page.get_by_label("How many", exact=True).fill("3")
        expect(admin_page.get_by_text("Zone second: it fits there now.")).to_be_visible()
        said = admin_page.get_by_role("list", name="What every zone says")
        expect(said).to_contain_text("second: Fits now on l4-24gb-1.")
        expect(said).to_contain_text("third: Can never run because it asks for 3 GPUs on one node")
        assert_accessible(admin_page)
    finally:
        story.call("DELETE", f"/zones/{third}")
    assert story.call("GET", f"/zones/{lab}")["nodes_count"] == 2


def test_new_pool_asks_for_its_zone(admin_page: Page, story: Story, lab: str) -> None:
    admin_page.goto("/nodes?tab=pools&edit=new")
    panel = open_panel(admin_page, "New pool")
    choose(admin_page, "Zone of the pool", "second, simulated")
    panel.get_by_label("Name").fill("racks")
    panel.get_by_label("Labels").fill("rack=r1")
    panel.get_by_role("button", name="Create pool").click()
    expect(row(admin_page, "second / racks")).to_be_visible()
    pools = story.call("GET", f"/pools?zone={lab}")["items"]
    assert [one["name"] for one in pools] == ["default", "racks"]
    admin_page.goto(f"/queues?pool={pools[0]['id']}")
    expect(admin_page.get_by_text("Pool second / default, GPUs, simulated")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_zones_are_accessible(new_page: NewPage, lab: str, theme: str) -> None:
    page = new_page(signed_in=True, theme="dark" if theme == "dark" else "light")
    for path in ("/nodes?edit=new", f"/nodes?open={lab}", f"/nodes?tab=pools&zone={lab}"):
        page.goto(path)
        expect(page.locator("tr.ant-table-row").first).to_be_visible()
        assert_accessible(page)


def test_zones_speak_three_languages_on_a_phone(new_page: NewPage, lab: str) -> None:
    page = new_page(signed_in=True, size=NARROW)
    for path in ("/nodes", f"/nodes?open={lab}", "/nodes?edit=new", f"/nodes?tab=nodes&zone={lab}"):
        for _ in each_language(page, path):
            expect(page.locator(".answer")).to_be_visible()
            assert_translated(page)
            assert_fits_the_screen(page)
