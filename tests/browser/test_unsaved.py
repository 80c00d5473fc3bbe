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
