"""Work in the console: launched by clicks, seen to run, read, stopped; what waits is explained."""

import re
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, Route, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import (
    assert_accessible_in_both_themes,
    assert_fits_the_screen,
    assert_translated,
    each_language,
)
from tests.browser.stories import Story, row
from tests.live import LiveCorral

TALKS = b"echo ready\nprintf '\\033[31mred\\033[0m\\n'\nexec sleep 600\n"


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def submit(story: Story, name: str, **more: Any) -> str:
    spec = {
        "name": name,
        "command": ["sleep", "600"],
        "resources": {"cpu_milli": 100, "memory_mib": 64},
        "grace_seconds": 1,
    }
    return str(story.call("POST", "/training", spec | more)["id"])


def test_training_is_launched_read_suspended_and_stopped_by_clicks(admin_page: Page) -> None:
    admin_page.goto("/training")
    expect(admin_page.get_by_text("No training run yet")).to_be_visible()
    admin_page.get_by_role("button", name="Launch training").first.click()
    admin_page.get_by_label("Name", exact=True).fill("fit")
    admin_page.get_by_label("Command", exact=True).fill("sh run.sh")
    script: FilePayload = {"name": "run.sh", "mimeType": "text/x-shellscript", "buffer": TALKS}
    admin_page.locator("input[type=file][multiple]").set_input_files([script])
    expect(admin_page.get_by_text("1 file, ")).to_be_visible()
    admin_page.get_by_text("Custom amounts", exact=True).click()
    admin_page.get_by_label("CPU", exact=True).fill("100m")
    admin_page.get_by_label("Memory", exact=True).fill("64Mi")
    expect(admin_page.get_by_text(re.compile("Fits now on"))).to_be_visible()
    admin_page.get_by_role("button", name="Launch", exact=True).click()

    admin_page.wait_for_url(re.compile("/workloads/w"))
    expect(admin_page.get_by_text(re.compile(r"Runs on .+ for \d+ s\."))).to_be_visible()
    admin_page.get_by_role("link", name="Log", exact=True).click()
    output = admin_page.get_by_role("log")
    expect(output.get_by_text("ready", exact=True)).to_be_visible()
    expect(output.locator(".a-red")).to_have_text("red")
    expect(admin_page.get_by_text("Following")).to_be_visible()

    admin_page.get_by_role("button", name="Stop", exact=True).click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Stop", exact=True).click()
    expect(admin_page.get_by_role("button", name="Run again")).to_be_visible(timeout=60_000)
    admin_page.get_by_role("link", name="Overview").click()
    expect(admin_page.get_by_text("admin stopped it.").first).to_be_visible()


def test_work_that_cannot_run_says_why_and_what_would_help(admin_page: Page, story: Story) -> None:
    gpus = {"cpu_milli": 100, "memory_mib": 64, "gpu": {"count": 64}}
    work = submit(story, "too-much", resources=gpus)
    admin_page.goto(f"/workloads/{work}")
    expect(admin_page.locator(".chip", has_text="Infeasible").first).to_be_visible()
    told = re.compile(r"^Can never run because it asks for 64 GPUs on one node, and .+\.$")
    expect(admin_page.locator(".answer")).to_have_text(told)
    expect(admin_page.get_by_text("It is in no line.")).to_be_visible()
    expect(admin_page.get_by_text("Why it cannot run")).to_be_visible()
    strip = admin_page.locator(".strip rect").last
    expect(strip).to_have_attribute("fill", "var(--c-red-fill)")
    expect(admin_page.get_by_text(re.compile(r"Ask for \d+ GPUs? per replica"))).to_be_visible()
    for _language in each_language(admin_page, f"/workloads/{work}"):
        expect(admin_page.locator(".answer")).to_contain_text("64")
        assert_translated(admin_page)


def test_launch_form_asks_before_it_launches_what_can_never_run(admin_page: Page, story: Story) -> None:
    admin_page.goto("/training/launch")
    admin_page.get_by_label("Name", exact=True).fill("never")
    admin_page.get_by_label("Command", exact=True).fill("true")
    admin_page.get_by_text("Custom amounts", exact=True).click()
    admin_page.get_by_label("CPU", exact=True).fill("100m")
    admin_page.get_by_label("Memory", exact=True).fill("64Mi")
    admin_page.get_by_text("Whole", exact=True).click()
    admin_page.get_by_label("How many", exact=True).fill("99")
    told = re.compile("Can never run because it asks for 99 GPUs on one node, and ")
    expect(admin_page.locator(".answer")).to_have_text(told)
    launch = admin_page.get_by_role("button", name="Launch", exact=True)
    launch.click()
    dialog = admin_page.get_by_role("dialog", name="Launch work that can never run?")
    expect(dialog.get_by_text(told)).to_be_visible()
    dialog.get_by_role("button", name="Back to the form").click()
    expect(dialog).to_be_hidden()
    assert not story.call("GET", "/workloads?search=never")["items"], "nothing was launched"
    launch.click()
    dialog.get_by_role("button", name="Launch anyway").click()
    admin_page.wait_for_url(re.compile("/workloads/w"))
    expect(admin_page.locator(".chip", has_text="Infeasible").first).to_be_visible()


def test_list_is_live_and_acts_on_many_at_once(admin_page: Page, story: Story) -> None:
    admin_page.goto("/workloads")
    names = ("first", "second")
    for name in names:
        submit(story, name)
    for name in names:
        expect(row(admin_page, name)).to_contain_text("Running", timeout=60_000)
        admin_page.get_by_role("checkbox", name=f"Select {name}").check()
    admin_page.get_by_role("button", name="Suspend 2").click()
    expect(row(admin_page, "second")).to_contain_text("Suspended", timeout=60_000)
    expect(row(admin_page, "first")).to_contain_text("admin suspended it.")
    admin_page.goto("/workloads?state=failed")
    expect(admin_page.get_by_text("No workload matches Failed")).to_be_visible()
    admin_page.get_by_role("button", name="Any state").click()
    expect(row(admin_page, "first")).to_be_visible()


def test_filtered_list_says_that_nothing_matches(admin_page: Page, story: Story) -> None:
    submit(story, "there-is-one")
    admin_page.goto("/workloads?search=nobody-has-this-name")
    expect(admin_page.locator(".answer")).to_have_text(re.compile(r"^Nothing matches the filters\."))
    admin_page.get_by_role("button", name="Any name").click()
    expect(row(admin_page, "there-is-one")).to_be_visible()


def test_kind_that_the_console_does_not_know_has_a_row_and_a_page(admin_page: Page, story: Story) -> None:
    known = submit(story, "figurine")

    def of_another_kind(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace('"kind":"training"', '"kind":"toy"'))

    admin_page.route(re.compile(r"/api/v1/workloads(\?|/w)"), of_another_kind)
    admin_page.goto("/workloads?kind=toy")
    # The server does not know it either, so that the filter is only looked at.
    expect(admin_page.get_by_text("No workload matches toy")).to_be_visible()
    admin_page.goto("/workloads")
    expect(row(admin_page, "figurine")).to_contain_text("toy")
    admin_page.get_by_role("link", name="figurine").click()
    expect(admin_page.get_by_role("heading", name="figurine")).to_be_visible()
    expect(admin_page.get_by_role("link", name="All workloads").first).to_be_visible()
    admin_page.get_by_role("link", name="Configuration").click()
    expect(admin_page.locator("pre")).to_contain_text("sleep")
    expect(admin_page.get_by_role("button", name="Launch training")).to_have_count(0)
    story.call("POST", f"/workloads/{known}/stop")


def test_malformed_id_in_an_address_is_not_found(admin_page: Page, watch: Any) -> None:
    watch.allow_answer(422, r"^/api/v1/(workloads|users)/")
    for path in ("/workloads/nonsense", "/training/launch?like=nonsense"):
        admin_page.goto(path)
        expect(admin_page.get_by_role("heading", level=1)).to_have_text("Not found")
    admin_page.goto("/people?person=nonsense")
    expect(admin_page.get_by_role("alert")).to_contain_text("Person cannot be shown: Not found")


def test_reason_and_way_to_its_explanation_are_readable_on_a_small_laptop(
    new_page: NewPage, story: Story
) -> None:
    submit(story, "waits", resources={"cpu_milli": 100, "memory_mib": 64, "gpu": {"count": 64}})
    page = new_page(signed_in=True, size=(1024, 768))
    page.goto("/workloads")
    why = page.get_by_role("link", name="Why? waits")
    expect(why).to_be_in_viewport(ratio=1)
    cell = page.locator("td", has=why)
    assert cell.evaluate("cell => cell.getBoundingClientRect().width") >= 150
    hidden = cell.locator(".few-lines").evaluate("text => text.scrollHeight - text.clientHeight")
    assert hidden <= 1, "the reason is cut"


def test_fields_of_the_launch_form_stay_where_they_are(new_page: NewPage) -> None:
    for size in ((1440, 900), (1024, 768)):
        page = new_page(signed_in=True, size=size)
        page.goto("/training/launch")
        name = page.get_by_label("Name", exact=True)
        details = page.get_by_role("group", name="Details")
        expect(name).to_be_visible()
        before = (name.bounding_box(), details.bounding_box())
        expect(page.get_by_text(re.compile("Fits now on"))).to_be_visible()
        assert (name.bounding_box(), details.bounding_box()) == before
        page.get_by_text("Custom amounts", exact=True).click()
        page.get_by_text("Whole", exact=True).click()
        page.get_by_label("How many", exact=True).fill("99")
        expect(page.get_by_text(re.compile("Can never run"))).to_be_visible()
        assert name.bounding_box() == before[0]


def test_what_ends_work_is_not_where_launch_was(new_page: NewPage, story: Story) -> None:
    work = submit(story, "not-by-accident")
    page = new_page(signed_in=True)
    page.goto("/training/launch")
    launch = page.get_by_role("button", name="Launch", exact=True).bounding_box()
    page.goto(f"/workloads/{work}")
    stop = page.get_by_role("button", name="Stop", exact=True).bounding_box()
    assert launch
    assert stop
    assert stop["x"] + stop["width"] < launch["x"]
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    more = page.get_by_role("button", name="Actions for not-by-accident")
    expect(more).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    more.click()
    page.get_by_role("menuitem", name="Stop").click()
    expect(page.get_by_role("dialog")).to_contain_text("Stop not-by-accident?")


def test_refusal_of_the_server_stands_at_its_field(admin_page: Page, watch: Any) -> None:
    watch.allow_answer(422, r"^/api/v1/training")
    admin_page.goto("/training/launch")
    admin_page.get_by_label("Name", exact=True).fill("fit")
    admin_page.get_by_label("Command", exact=True).fill("true")
    admin_page.get_by_text("Custom amounts", exact=True).click()
    admin_page.get_by_label("Memory", exact=True).fill("many")
    admin_page.get_by_role("button", name="Launch", exact=True).click()
    expect(admin_page.locator(".ant-form-item-has-error", has_text="Memory")).to_be_visible()


def test_pages_of_work_are_accessible_translated_and_fit_a_phone(new_page: NewPage, story: Story) -> None:
    work = submit(story, "looked-at")
    page = new_page(signed_in=True, size=NARROW)
    for path in ("/workloads", f"/workloads/{work}", f"/workloads/{work}?tab=log", "/training/launch"):
        for _language in each_language(page, path):
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert_translated(page)
            assert_fits_the_screen(page)
        assert_accessible_in_both_themes(page)
