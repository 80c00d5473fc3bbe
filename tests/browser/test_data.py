"""Secrets and runtimes in the console, and what queues say of themselves beside their numbers."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import assert_fits_the_screen, assert_translated
from tests.browser.stories import Story, open_panel, row
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def test_secret_is_kept_replaced_and_deleted_and_never_shown(admin_page: Page, story: Story) -> None:
    admin_page.goto("/secrets")
    admin_page.get_by_role("button", name="New secret").first.click()
    panel = open_panel(admin_page, "New secret")
    panel.get_by_label("Name").fill("hf-token")
    panel.get_by_label("Value").fill("a-value-nobody-sees")
    assert_accessible(admin_page)
    panel.get_by_role("button", name="Save secret").click()
    expect(row(admin_page, "hf-token")).to_contain_text("--secret HF_TOKEN=hf-token")
    assert "a-value-nobody-sees" not in admin_page.content()
    row(admin_page, "hf-token").click()
    panel = open_panel(admin_page, "hf-token")
    expect(panel.get_by_label("New value")).to_have_value("")
    panel.get_by_label("New value").fill("another-value")
    panel.get_by_role("button", name="Replace value").click()
    expect(panel).to_be_hidden()
    row(admin_page, "hf-token").click()
    open_panel(admin_page, "hf-token").get_by_role("button", name="Delete secret").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Delete secret").click()
    expect(row(admin_page, "hf-token")).to_have_count(0)
    assert story.call("GET", "/me/secrets")["items"] == []


def test_runtime_is_built_by_a_click_and_shows_its_output(new_page: NewPage) -> None:
    page = new_page(signed_in=True)
    page.goto("/runtimes")
    page.get_by_role("button", name="Build python").click()
    panel = open_panel(page, "python:1")
    expect(row(page, "python:1")).to_contain_text("Ready", timeout=60_000)
    expect(panel.get_by_text("corral run --runtime python:1 train.py")).to_be_visible()
    assert_accessible(page)
    panel.get_by_role("link", name="Build log").click()
    expect(page.get_by_role("log").get_by_text("The runtime is ready.")).to_be_visible()
    page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    for path in ("/runtimes", "/runtimes?edit=new", "/secrets?edit=new"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_be_attached()
        assert_translated(page)
        assert_fits_the_screen(page)


def test_queue_gets_a_minimum_run_time_after_its_effect_was_seen(admin_page: Page, story: Story) -> None:
    lab = story.organisation("Patient Lab")
    admin_page.goto("/queues")
    row(admin_page, "Patient Lab").locator(".queue-name").click()
    panel = open_panel(admin_page, "Patient Lab")
    panel.get_by_label("Before other queues reclaim it").fill("30min")
    expect(admin_page.get_by_text(re.compile("If you save this change now"))).to_be_visible()
    expect(admin_page.get_by_text("No fair share changes now.")).to_be_visible()
    assert_accessible(admin_page)
    admin_page.get_by_role("button", name="Save 1 change").click()
    expect(admin_page.get_by_text("If you save")).to_have_count(0)

    def of_lab(tree: dict[str, Any]) -> Any:
        return next(one for one in tree["items"] if one["organisation_id"] == lab)

    assert of_lab(story.call("GET", "/queues"))["reclaim_min_runtime_seconds"] == 1800
