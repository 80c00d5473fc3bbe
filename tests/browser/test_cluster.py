"""Cluster and Platform: queues are divided in place, machines looked at, flavors made."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import assert_fits_the_screen, assert_translated, each_language
from tests.browser.stories import Story, choose, expect_no_sideways_scroll, open_panel, row
from tests.databases import in_database, sqlite_url
from tests.live import LiveCorral
from tests.zones.machines import machine, see_in_the_hall


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    """16 simulated GPUs on two machines."""
    seen = (machine("dgx-01"), machine("dgx-02", labels={"rack": "r1"}))
    in_database(
        sqlite_url(live_corral.home / "corral.db"),
        lambda transaction: see_in_the_hall(transaction, *seen),
    )
    return Story(live_corral)


def queue_of(story: Story, name: str) -> Any:
    return next(one for one in story.call("GET", "/queues")["items"] if one["name"] == name)


def pool_of(story: Story) -> str:
    return str(next(one["id"] for one in story.call("GET", "/pools")["items"] if one["name"] == "dgx"))


def gpus_of(story: Story, name: str) -> Any:
    quotas = [one for one in queue_of(story, name)["quotas"] if one["pool_id"] == pool_of(story)]
    return next(one for one in quotas if one["resource"] == "gpu_milli")


def type_into(page: Page, cell: str, text: str) -> None:
    page.get_by_role("button", name=f"{cell}:").click()
    page.get_by_role("textbox", name=cell).fill(text)
    page.get_by_role("textbox", name=cell).press("Enter")


def test_several_queues_are_changed_in_place_and_saved_at_once(admin_page: Page, story: Story) -> None:
    for name in ("Vision Lab", "Robotics"):
        story.organisation(name)
    admin_page.goto(f"/queues?pool={pool_of(story)}")
    expect(row(admin_page, "Robotics")).to_be_visible()
    type_into(admin_page, "Guarantee of Vision Lab", "4")
    type_into(admin_page, "Limit of Vision Lab", "10")
    type_into(admin_page, "Guarantee of Robotics", "14")
    bar = admin_page.locator(".effect-bar")
    expect(bar).to_contain_text("If you save these 3 changes now")
    expect(bar).to_contain_text("Guarantees in Corral add up to 18 GPUs, the pool hall / dgx has 16 GPUs.")
    type_into(admin_page, "Guarantee of Robotics", "5")
    expect(bar).to_contain_text("nothing over-committed")
    expect(row(admin_page, "Vision Lab").locator("s").first).to_have_text("0")
    bar.get_by_role("button", name="Save 3 changes").click()
    expect(bar).to_have_count(0)
    expect(admin_page.locator(".answer")).to_contain_text("Guarantees: 9 of 16 GPUs.")
    assert (gpus_of(story, "Vision Lab")["guarantee"], gpus_of(story, "Vision Lab")["limit"]) == (4000, 10000)
    assert gpus_of(story, "Robotics")["guarantee"] == 5000


def test_whole_cell_of_a_queue_can_be_clicked(admin_page: Page, story: Story) -> None:
    story.organisation("Wide cells")
    admin_page.goto(f"/queues?pool={pool_of(story)}")
    for what, corner in (("Guarantee", {"x": 4.0, "y": 4.0}), ("Priority", {"x": 4.0, "y": 30.0})):
        cell = admin_page.get_by_role("button", name=f"{what} of Wide cells:")
        admin_page.locator("td", has=cell).click(position={"x": corner["x"], "y": corner["y"]})
        field = admin_page.get_by_role("textbox", name=f"{what} of Wide cells")
        expect(field).to_be_focused()
        field.press("Escape")
    assert "queue=" not in admin_page.url
    admin_page.get_by_role("textbox", name="Find a queue").fill("nothing-like-it")
    admin_page.get_by_role("button", name="Clear the search").click()
    expect(row(admin_page, "Wide cells")).to_be_visible()


def test_change_that_cannot_be_scheduled_says_why_and_is_not_saved(
    admin_page: Page, story: Story, watch: Any
) -> None:
    story.organisation("Teaching")
    watch.allow_answer(422, r"^/api/v1/queues/changes$")
    admin_page.goto(f"/queues?pool={pool_of(story)}")
    type_into(admin_page, "Limit of Teaching", "1")
    type_into(admin_page, "Guarantee of Teaching", "2")
    bar = admin_page.locator(".effect-bar")
    expect(bar).to_contain_text("A guarantee of 2 GPUs is above the limit of 1 GPU.")
    expect(bar.get_by_role("button", name="Save")).to_be_disabled()
    bar.get_by_role("button", name="Discard").click()
    expect(bar).to_have_count(0)
    assert gpus_of(story, "Teaching")["limit"] == -1


def test_node_is_cordoned_from_its_panel(admin_page: Page, story: Story) -> None:
    assert story.call("GET", "/nodes")["items"]
    admin_page.goto("/nodes?tab=nodes")
    expect(
        admin_page.get_by_text("work on them is scheduled and metered, and computes on the CPU")
    ).to_be_visible()
    row(admin_page, "dgx-02").click()
    panel = open_panel(admin_page, "dgx-02")
    panel.get_by_role("button", name="Cordon", exact=True).click()
    expect(row(admin_page, "dgx-02")).to_contain_text("Cordoned")
    panel.get_by_role("button", name="Uncordon").click()
    expect(row(admin_page, "dgx-02")).to_contain_text("Ready")
    admin_page.get_by_role("link", name="Devices").click()
    expect(row(admin_page, "dgx-01, GPU 7")).to_contain_text("H100-80GB, simulated")


def test_pool_is_deleted_unless_something_is_in_it(admin_page: Page, story: Story, watch: Any) -> None:
    zone = story.call("GET", "/zones")["items"][0]["id"]
    new = {"zone_id": zone, "name": "spare", "labels": {"use": "spare"}}
    pool = story.call("POST", "/pools", new)["id"]
    lab = story.organisation("Has a quota")
    queue = next(one for one in story.call("GET", "/queues")["items"] if one["organisation_id"] == lab)
    quota = {"pool_id": pool, "resource": "cpu_milli", "guarantee": 1000}
    story.call("PATCH", f"/queues/{queue['id']}", {"quotas": [quota]})
    admin_page.goto(f"/nodes?tab=pools&pool={pool}")
    panel = open_panel(admin_page, "spare")
    panel.get_by_role("button", name="Delete pool").click()
    dialog = admin_page.get_by_role("dialog").filter(has_text="Delete the pool spare?")
    dialog.get_by_role("textbox").fill("spare")
    watch.allow_answer(409, r"^/api/v1/pools/")
    dialog.get_by_role("button", name="Delete pool").click()
    expect(dialog).to_contain_text("1 queues with quotas in it")
    story.call("PATCH", f"/queues/{queue['id']}", {"quotas": [quota | {"guarantee": 0}]})
    dialog.get_by_role("button", name="Delete pool").click()
    expect(panel).to_have_count(0)
    expect(row(admin_page, "spare")).to_have_count(0)


def test_flavor_is_made_and_deleted(admin_page: Page, story: Story) -> None:
    assert story.call("GET", "/flavors")["items"]
    admin_page.goto("/flavors")
    expect(row(admin_page, "gpu-8g")).to_contain_text("1 × 8 GiB")  # noqa: RUF001
    admin_page.get_by_role("button", name="New flavor").click()
    panel = open_panel(admin_page, "New flavor")
    panel.get_by_label("Name").fill("gpu-16g")
    panel.get_by_label("CPUs").fill("4")
    panel.get_by_label("Memory, GiB").fill("32")
    choose(admin_page, "GPUs", "A slice, by memory")
    panel.get_by_label("GPU memory, GiB").fill("16")
    panel.get_by_role("button", name="Create flavor").click()
    expect(row(admin_page, "gpu-16g")).to_contain_text("1 × 16 GiB")  # noqa: RUF001
    row(admin_page, "gpu-16g").click()
    open_panel(admin_page, "gpu-16g").get_by_role("button", name="Delete flavor").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("gpu-16g")
    dialog.get_by_role("button", name="Delete flavor").click()
    expect(row(admin_page, "gpu-16g")).to_have_count(0)


def test_flavor_that_fits_on_no_node_is_marked(admin_page: Page, story: Story) -> None:
    new = {"name": "cpu-ten-thousand", "cpu_milli": 10_000_000, "memory_mib": 64}
    flavor = story.call("POST", "/flavors", new | {"organisation_ids": [story.root()]})
    told = "Fits on no node: it asks for 10,000 CPU on one node, and the largest node has"
    admin_page.goto("/flavors")
    expect(row(admin_page, "cpu-ten-thousand")).to_contain_text(told)
    expect(row(admin_page, "cpu-ten-thousand")).to_contain_text("Infeasible")
    row(admin_page, "cpu-ten-thousand").click()
    panel = open_panel(admin_page, "cpu-ten-thousand")
    expect(panel.get_by_role("status")).to_contain_text("infeasible until nodes change")
    admin_page.goto("/training/launch")
    expect(admin_page.get_by_role("radio", name="cpu-ten-thousand")).to_be_visible()
    choice = admin_page.locator(".flavors .ant-radio-wrapper", has_text="cpu-ten-thousand")
    expect(choice).to_contain_text(told)
    story.call("DELETE", f"/flavors/{flavor['id']}")


def test_flavors_that_corral_made_speak_the_readers_language(admin_page: Page, story: Story) -> None:
    made = [one for one in story.call("GET", "/flavors")["items"] if one["preset"]]
    assert made
    for language in each_language(admin_page, "/flavors"):
        for one in made:
            line = admin_page.locator("tr.ant-table-row", has=admin_page.get_by_text(one["name"], exact=True))
            expect(line).to_be_visible()
            assert (one["description"] in line.inner_text()) == (language == "en"), one["description"]
    # Saved in another language, it stays Corral's own text for everybody else.
    admin_page.goto(f"/flavors?flavor={made[0]['id']}")
    admin_page.locator(".side-panel button[type=submit]").click()
    expect(admin_page.locator(".side-panel")).to_have_count(0)
    assert story.call("GET", f"/flavors/{made[0]['id']}")["description"] == made[0]["description"]


def test_tables_have_room_on_a_small_laptop(new_page: NewPage, story: Story) -> None:
    story.organisation("Small laptop")
    page = new_page(signed_in=True, size=(1024, 768))
    pages = (
        "/queues",
        "/nodes",
        "/nodes?tab=nodes",
        "/nodes?tab=devices",
        "/nodes?tab=pools",
        "/flavors",
        "/people",
        "/roles",
        "/audit",
    )
    for path in pages:
        page.goto(path)
        expect(page.locator("tr.ant-table-row").first).to_be_visible()
        outside = page.locator(".page-scroll").evaluate("part => part.scrollWidth - part.clientWidth")
        assert outside <= 0, f"{path} is {outside} px too wide"
        heads = page.locator("th.ant-table-cell")
        cut = heads.evaluate_all(
            "all => all.filter((head) => head.scrollWidth > head.clientWidth + 1 || head.clientHeight > 60)"
            ".map((head) => head.textContent)"
        )
        assert not cut, f"{path} has no room for {cut}"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_of_the_cluster_are_accessible(new_page: NewPage, story: Story, theme: str) -> None:
    story.organisation(f"Seen in {theme}")
    page = new_page(signed_in=True, theme="dark" if theme == "dark" else "light")
    (node, *_) = story.call("GET", "/nodes")["items"]
    for path, shown in (
        ("/queues", f"Seen in {theme}"),
        (f"/nodes?tab=nodes&node={node['id']}", "dgx-01"),
        ("/flavors", "gpu-1"),
    ):
        page.goto(path)
        expect(row(page, shown).first).to_be_visible()
        assert_accessible(page)


def test_pages_of_the_cluster_speak_three_languages_on_a_phone(new_page: NewPage, story: Story) -> None:
    story.organisation("Small screen")
    page = new_page(signed_in=True, size=NARROW)
    nodes = ("/nodes", "/nodes?tab=nodes", "/nodes?tab=devices", "/nodes?tab=pools")
    for path in ("/queues", *nodes, "/flavors"):
        for _ in each_language(page, path):
            expect(page.locator(".answer")).to_be_visible()
            expect(page.locator(".phone-rows li").first).to_be_visible()
            assert_translated(page)
            assert_fits_the_screen(page)
            expect_no_sideways_scroll(page)
