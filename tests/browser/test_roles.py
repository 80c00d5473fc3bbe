"""Organisation, Roles: what each allows, and roles of one's own."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.stories import Story, enter, expect_no_sideways_scroll, open_panel, row
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def make_role(story: Story, name: str, permissions: list[str]) -> str:
    made = story.call(
        "POST", "/roles", {"organisation_id": story.root(), "name": name, "permissions": permissions}
    )
    return str(made["id"])


def test_custom_role_is_made_from_words_and_deleted_while_nobody_has_it(
    admin_page: Page, story: Story
) -> None:
    admin_page.goto("/roles")
    expect(admin_page.get_by_text("3 roles, 0 custom.")).to_be_visible()
    admin_page.get_by_role("button", name="New role").click()
    panel = open_panel(admin_page, "New role")
    panel.get_by_label("Name").fill("Teacher")
    panel.get_by_label("Invite people").check()
    panel.get_by_role("button", name="Create role").click()
    made = open_panel(admin_page, "Teacher")
    expect(made.get_by_text("Invite people")).to_be_visible()
    expect(made.get_by_text("Nobody has it.")).to_be_visible()
    stored = story.call("GET", f"/roles/{story.role('Teacher')}")
    assert stored["permissions"] == ["organisations.read", "people.invite"]

    made.get_by_role("button", name="Delete role").click()
    dialog = admin_page.get_by_role("dialog")
    dialog.get_by_role("textbox").fill("Teacher")
    dialog.get_by_role("button", name="Delete role").click()
    expect(row(admin_page, "Teacher")).to_have_count(0)


def test_change_says_whom_it_hits_before_it_is_saved(admin_page: Page, story: Story) -> None:
    role = make_role(story, "Assistant", ["organisations.read", "people.read"])
    story.person("lukas", "Lukas Brandt", role="Assistant")
    admin_page.goto(f"/roles?role={role}")
    open_panel(admin_page, "Assistant").get_by_role("button", name="Change").click()
    panel = open_panel(admin_page, "Change Assistant")
    expect(panel.get_by_text("1 person has it.")).to_be_visible()
    panel.get_by_label("See people").uncheck()
    panel.get_by_label("Read the audit log").check()
    expect(panel.get_by_text("After saving they may also: Read the audit log.")).to_be_visible()
    expect(panel.get_by_text("After saving they may no longer: See people.")).to_be_visible()
    panel.get_by_role("button", name="Save role").click()
    saved = open_panel(admin_page, "Assistant")
    expect(saved.get_by_text("Read the audit log")).to_be_visible()

    saved.get_by_role("button", name="Delete role").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("1 person has it. Revoke it first.")
    dialog.get_by_role("link", name="Show them").click()
    expect(row(admin_page, "Lukas Brandt")).to_be_visible()


def test_only_permissions_one_holds_can_be_put_into_a_role(new_page: NewPage, story: Story) -> None:
    lab = story.organisation("Vision Lab")
    lead = story.person("wenhao", "Wen-Hao Lin", organisation=lab, role="organisation_administrator")
    page = new_page()
    enter(page, lead)
    page.goto("/roles?edit=new")
    panel = open_panel(page, "New role")
    expect(panel.get_by_label("Invite people")).to_be_enabled()
    expect(panel.get_by_label("Change settings")).to_be_disabled()
    expect(panel.get_by_text("permissions that you do not have on this organisation")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_roles_and_their_form_are_accessible(new_page: NewPage, theme: str) -> None:
    page = new_page(signed_in=True, theme="dark" if theme == "dark" else "light")
    page.goto("/roles?edit=new")
    expect(open_panel(page, "New role").get_by_label("Invite people")).to_be_visible()
    expect(row(page, "Super administrator")).to_be_visible()
    assert_accessible(page)


def test_roles_fit_a_phone(new_page: NewPage, story: Story) -> None:
    page = new_page(signed_in=True, size=NARROW)
    page.goto("/roles")
    expect(page.get_by_role("list", name="Roles")).to_be_visible()
    expect_no_sideways_scroll(page)
    page.goto(f"/roles?role={story.role('super_administrator')}")
    open_panel(page, "Super administrator")
    expect_no_sideways_scroll(page)
