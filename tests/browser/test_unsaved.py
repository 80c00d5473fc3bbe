"""What was typed and not saved is not lost by a click beside it, by the way back, or with the tab."""

import re

from playwright.sync_api import Locator, Page, expect

from tests.browser.stories import Story, open_panel, row
from tests.live import LiveCorral

# Whether the browser would ask before it closes the tab.
_HOLDS = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
# Every form with edits, and a text field in it.
_FORMS = (
    ("/training/launch", "Name"),
    ("/flavors?edit=new", "Name"),
    ("/nodes?edit=new", "Name"),
    ("/nodes?tab=pools&edit=new", "Name"),
    ("/roles?edit=new", "Name"),
    ("/runtimes?edit=new", "Name"),
    ("/secrets?edit=new", "Name"),
    ("/settings", "Mail server"),
    ("/profile", "Your name"),
    ("/profile?tab=tokens&edit=new", "Name"),
    ("/profile?tab=sshKeys&edit=new", "Title"),
    ("/people?panel=account", "User name"),
    ("/people/import", "Lines"),
    ("/?edit=name", "Name of the organisation"),
)


def question(page: Page) -> Locator:
    asked = page.get_by_role("dialog").filter(has_text="Discard your changes?")
    expect(asked).to_be_visible()
    return asked


def test_edits_of_a_queue_are_not_left_without_a_question(admin_page: Page, live_corral: LiveCorral) -> None:
    Story(live_corral).organisation("Guarded")
    admin_page.goto("/roles")
    admin_page.get_by_role("link", name="Queues", exact=True).click()
    admin_page.get_by_role("button", name="Weight of Guarded:").click()
    admin_page.get_by_role("textbox", name="Weight of Guarded").fill("3")
    admin_page.get_by_role("textbox", name="Weight of Guarded").press("Enter")
    bar = admin_page.locator(".effect-bar")
    expect(bar).to_be_visible()
    # What is only looked at beside it is no leaving.
    row(admin_page, "Guarded").get_by_text("Guarded").click()
    open_panel(admin_page, "Guarded").get_by_role("button", name="Close").click()
    expect(admin_page.get_by_role("complementary", name="Guarded")).to_have_count(0)
    assert admin_page.evaluate(_HOLDS)

    admin_page.get_by_role("link", name="People", exact=True).click()
    question(admin_page).get_by_role("button", name="Keep editing").click()
    expect(admin_page.get_by_role("dialog")).to_have_count(0)
    expect(bar).to_contain_text("If you save this change now")
    admin_page.evaluate("history.back()")
    question(admin_page).get_by_role("button", name="Discard changes").click()
    admin_page.wait_for_url(re.compile("/roles"))
    assert not admin_page.evaluate(_HOLDS)


def test_panel_with_edits_is_not_closed_without_a_question(admin_page: Page) -> None:
    admin_page.goto("/flavors?edit=new")
    panel = open_panel(admin_page, "New flavor")
    panel.get_by_label("Name").fill("half-typed")
    panel.get_by_role("button", name="Close").click()
    question(admin_page).get_by_role("button", name="Keep editing").click()
    expect(panel.get_by_label("Name")).to_have_value("half-typed")
    panel.get_by_label("Name").press("Escape")
    question(admin_page).get_by_role("button", name="Discard changes").click()
    expect(panel).to_have_count(0)


def test_signing_out_with_edits_asks_first(admin_page: Page) -> None:
    admin_page.goto("/flavors?edit=new")
    name = open_panel(admin_page, "New flavor").get_by_label("Name")
    name.fill("half-typed")
    for answer in ("Keep editing", "Discard changes"):
        admin_page.locator("button.user-block").click()
        admin_page.get_by_role("menuitem", name="Sign out").click()
        question(admin_page).get_by_role("button", name=answer).click()
        if answer == "Keep editing":
            expect(name).to_have_value("half-typed")
    admin_page.wait_for_url(re.compile("/login"))


def test_form_keeps_what_was_typed_when_somebody_else_saves(
    admin_page: Page, live_corral: LiveCorral
) -> None:
    story = Story(live_corral)
    new = {"name": "shared", "cpu_milli": 1000, "memory_mib": 1024, "organisation_ids": [story.root()]}
    path = f"/flavors/{story.call('POST', '/flavors', new)['id']}"
    admin_page.goto(f"/flavors?flavor={path.rpartition('/')[2]}")
    panel = open_panel(admin_page, "shared")
    field = panel.get_by_label("What it is for")
    field.fill("half-typed")
    story.call("PATCH", path, {"description": "saved by another"})
    expect(panel).to_contain_text("Someone else changed this in the meantime.")
    expect(field).to_have_value("half-typed")
    panel.get_by_role("button", name="Load the new version").click()
    expect(field).to_have_value("saved by another")
    expect(panel).not_to_contain_text("Someone else changed this in the meantime.")
    story.call("PATCH", path, {"description": "and again"})
    expect(field).to_have_value("and again")  # nothing was typed: it is simply up to date


def test_every_form_holds_the_tab_while_it_has_edits(admin_page: Page) -> None:
    for path, label in _FORMS:
        admin_page.goto(path)
        field = admin_page.get_by_role("textbox", name=label, exact=True).first
        before = field.input_value()
        assert not admin_page.evaluate(_HOLDS), path
        field.fill(f"{before}typed")
        assert admin_page.evaluate(_HOLDS), path
        field.fill(before)
        assert not admin_page.evaluate(_HOLDS), path
