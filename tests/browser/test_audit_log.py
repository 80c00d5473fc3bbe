"""Platform, Security, Audit log: who did what, with what was before and after."""

import csv
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.stories import Story, choose, expect_no_sideways_scroll, open_panel, row
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def test_change_made_in_the_console_is_in_the_log_with_before_and_after(
    admin_page: Page, story: Story
) -> None:
    lukas = story.person("lukas", "Lukas Brandt")
    admin_page.goto(f"/people?person={lukas.id}")
    panel = open_panel(admin_page, "Lukas Brandt")
    choose(admin_page, "Priority", "3")
    panel.get_by_role("button", name="Save priority").click()
    expect(panel.get_by_role("button", name="Save priority")).to_have_count(0)

    panel.get_by_role("link", name="History in the audit log").click()
    expect(admin_page.get_by_role("button", name="About Lukas Brandt")).to_be_visible()
    row(admin_page, "changed the account").click()
    entry = open_panel(admin_page, "Changed the account")
    expect(entry.locator(".diff")).to_contain_text(re.compile(r"Priority.*was.*1.*\+.*now.*3", re.DOTALL))
    expect(entry.get_by_text("Browser session")).to_be_visible()
    expect(entry.get_by_text("127.0.0.1")).to_be_visible()


def test_filters_narrow_the_log_and_live_in_the_address(admin_page: Page, story: Story) -> None:
    story.organisation("Robotics")
    story.person("sanne", "Sanne de Vries")
    admin_page.goto("/audit")
    expect(row(admin_page, "created the organisation")).to_be_visible()
    choose(admin_page, "What", "Created the account")
    expect(row(admin_page, "created the organisation")).to_have_count(0)
    expect(row(admin_page, "sanne")).to_be_visible()
    expect(admin_page).to_have_url(re.compile("action=user.create"))
    admin_page.keyboard.press("Escape")
    choose(admin_page, "Result", "Refused")
    expect(admin_page.get_by_text("No entry matches these filters")).to_be_visible()
    admin_page.get_by_role("button", name="Clear all filters").click()
    expect(row(admin_page, "created the organisation")).to_be_visible()


def test_refusal_stands_out_with_its_reason(admin_page: Page, page: Page) -> None:
    answer = page.request.post(
        "/api/v1/session", data={"provider": "local", "name": "admin", "password": "not the password"}
    )
    assert answer.status == 401
    admin_page.goto("/audit?result=refused")
    row(admin_page, "Refused").first.click()
    expect(open_panel(admin_page, "Signed in").locator(".notice.warning")).to_be_visible()


def test_newer_entries_wait_until_they_are_asked_for(admin_page: Page, story: Story) -> None:
    admin_page.goto("/audit?action=organisation.create")
    expect(admin_page.get_by_role("heading", name="Audit log")).to_be_visible()
    expect(admin_page.locator(".answer")).to_be_visible()
    story.organisation("Language Group")
    admin_page.get_by_role("button", name="Show 1 newer entry").click()
    expect(row(admin_page, "Language Group")).to_be_visible()


def test_log_is_exported_as_csv_with_its_filters(admin_page: Page, story: Story) -> None:
    story.organisation("Serving")
    admin_page.goto("/audit?action=organisation.create")
    admin_page.get_by_role("button", name="Export").click()
    with admin_page.expect_download() as download:
        admin_page.get_by_role("link", name="As CSV").click()
    with download.value.path().open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["action"] for line in lines} == {"organisation.create"}
    assert lines[0]["object_name"] == "Serving"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_log_with_an_open_entry_is_accessible(new_page: NewPage, story: Story, theme: str) -> None:
    story.organisation(f"Axe {theme}")
    page = new_page(signed_in=True, theme="dark" if theme == "dark" else "light")
    page.goto("/audit?action=organisation.create")
    row(page, f"Axe {theme}").click()
    open_panel(page, "Created the organisation")
    assert_accessible(page)


def test_log_fits_a_phone(new_page: NewPage) -> None:
    page = new_page(signed_in=True, size=NARROW)
    page.goto("/audit")
    page.get_by_role("list", name="Audit log").get_by_role("button").first.click()
    expect_no_sideways_scroll(page)
