"""Organisation, Organisations: the tree grows, moves and shrinks."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.stories import Story, choose, expect_no_sideways_scroll, open_panel, row
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def act_on(page: Page, name: str, action: str) -> None:
    page.get_by_role("button", name=f"Actions for {name}").click()
    page.get_by_role("menuitem", name=action).click()


def test_organisation_is_created_moved_and_deleted(admin_page: Page, story: Story) -> None:
    teaching = story.organisation("Teaching")
    admin_page.goto("/organisations")
    act_on(admin_page, "Teaching", "Add below")
    panel = open_panel(admin_page, "New organisation")
    panel.get_by_label("Name").fill("CS231")
    panel.get_by_role("button", name="Create organisation").click()
    expect(row(admin_page, "CS231")).to_be_visible()
    made = open_panel(admin_page, "CS231")
    expect(made.get_by_text("below Teaching")).to_be_visible()

    made.get_by_role("button", name="Move…").click()
    moving = open_panel(admin_page, "Move CS231")
    choose(admin_page, "Move to", "Corral")
    expect(moving.get_by_text("Moves 1 organisation with 0 memberships.")).to_be_visible()
    expect(moving.get_by_text("Roles granted on Teaching no longer do.")).to_be_visible()
    moving.get_by_role("button", name="Move organisation").click()
    expect(open_panel(admin_page, "CS231").get_by_text("below Corral")).to_be_visible()
    parents = {one["name"]: one["parent_id"] for one in story.call("GET", "/organisations")["items"]}
    assert parents["CS231"] == story.root() != teaching

    act_on(admin_page, "CS231", "Delete")
    dialog = admin_page.get_by_role("dialog")
    delete = dialog.get_by_role("button", name="Delete")
    expect(delete).to_be_disabled()
    dialog.get_by_role("textbox").fill("CS231")
    delete.click()
    expect(row(admin_page, "CS231")).to_have_count(0)


def test_organisation_that_is_not_empty_says_what_must_leave_first(admin_page: Page, story: Story) -> None:
    lab = story.organisation("Vision Lab")
    story.organisation("drone-nav", lab)
    story.person("kofi", "Kofi Asante", organisation=lab)
    admin_page.goto("/organisations")
    act_on(admin_page, "Vision Lab", "Delete")
    expect(admin_page.get_by_role("dialog")).to_contain_text("It still has 1 organisation, 1 person.")


def test_renamed_organisation_shows_its_new_name_at_once(admin_page: Page, story: Story) -> None:
    story.organisation("Robotik")
    admin_page.goto("/organisations")
    act_on(admin_page, "Robotik", "Rename")
    panel = open_panel(admin_page, "Rename Robotik")
    panel.get_by_label("Name").fill("Robotics")
    panel.get_by_role("button", name="Save name").click()
    expect(row(admin_page, "Robotics")).to_be_visible()


def test_organisation_made_elsewhere_appears_without_reload(admin_page: Page, story: Story) -> None:
    admin_page.goto("/organisations")
    expect(row(admin_page, "Corral")).to_be_visible()
    story.organisation("Language Group")
    expect(row(admin_page, "Language Group")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_tree_with_an_open_organisation_is_accessible(new_page: NewPage, story: Story, theme: str) -> None:
    node = story.organisation(f"Axe {theme}")
    page = new_page(signed_in=True, theme="dark" if theme == "dark" else "light")
    page.goto(f"/organisations?node={node}")
    open_panel(page, f"Axe {theme}")
    assert_accessible(page)


def test_tree_is_only_looked_at_on_a_phone(new_page: NewPage, story: Story) -> None:
    node = story.organisation("Serving")
    page = new_page(signed_in=True, size=NARROW)
    page.goto("/organisations")
    expect(page.get_by_text("The tree can be edited on a wider screen.")).to_be_visible()
    expect_no_sideways_scroll(page)
    page.goto(f"/organisations?node={node}&act=move")
    panel = open_panel(page, "Serving")
    expect(panel.get_by_role("button", name="Move…")).to_have_count(0)
    expect_no_sideways_scroll(page)
