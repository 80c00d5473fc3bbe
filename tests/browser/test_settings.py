"""Platform, Settings: mail and registration."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import (
    assert_accessible_in_both_themes,
    assert_fits_the_screen,
    assert_translated,
    each_language,
)
from tests.browser.stories import Story, choose, enter
from tests.browser.watching import PageWatch
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def test_sign_up_is_switched_on_for_an_organisation(admin_page: Page, page: Page, story: Story) -> None:
    guests = story.organisation("Guests")
    page.goto("/sign-up")
    expect(page.get_by_text("Sign-up is off here")).to_be_visible()
    admin_page.goto("/settings")
    save = admin_page.get_by_role("button", name="Save registration")
    expect(save).to_be_disabled()
    admin_page.get_by_role("radio", name="On").check()
    choose(admin_page, "They belong to", "Guests")
    save.click()
    expect(admin_page.get_by_text("Sign-up is on.")).to_be_visible()
    expect(save).to_be_disabled()
    assert story.call("GET", "/settings/registration")["organisation_id"] == guests
    page.goto("/login")
    expect(page.get_by_role("link", name="Ask for one")).to_be_visible()


def test_two_administrators_do_not_overwrite_each_other(
    admin_page: Page, story: Story, watch: PageWatch
) -> None:
    watch.allow_answer(412, "^/api/v1/settings/mail$")
    admin_page.goto("/settings")
    host = admin_page.get_by_label("Mail server", exact=True)
    host.fill("smtp.example.org")
    admin_page.get_by_label("Sender").fill("no address")
    admin_page.get_by_role("button", name="Save mail settings").click()
    expect(admin_page.get_by_text("An address such as ada@example.org.")).to_be_visible()
    admin_page.get_by_label("Sender").fill("corral@example.org")

    story.call(
        "PUT",
        "/settings/mail",
        {"host": "mail.example.org", "port": 25, "encryption": "starttls", "sender": "other@example.org"},
    )
    notice = admin_page.get_by_role("status").filter(has_text="Someone else changed this in the meantime.")
    expect(notice).to_be_visible()
    expect(host).to_have_value("smtp.example.org")
    admin_page.get_by_role("button", name="Save mail settings").click()
    expect(admin_page.get_by_role("alert")).to_contain_text("changed")
    notice.get_by_role("button", name="Load the new version").click()
    expect(host).to_have_value("mail.example.org")
    expect(notice).to_have_count(0)
    expect(admin_page.get_by_role("alert")).to_have_count(0)


def test_who_may_only_see_settings_cannot_change_them(page: Page, story: Story) -> None:
    story.call(
        "POST",
        "/roles",
        {
            "organisation_id": story.root(),
            "name": "Auditor",
            "description": "",
            "permissions": ["settings.read", "organisations.read"],
        },
    )
    enter(page, story.person("paolo", "Paolo Ricci", role="Auditor"))
    page.goto("/settings")
    expect(page.get_by_text("Your roles let you see these settings, not change them.")).to_be_visible()
    expect(page.get_by_label("Mail server", exact=True)).to_be_disabled()
    expect(page.get_by_role("button", name="Save mail settings")).to_be_disabled()
    expect(page.get_by_role("button", name="Send test mail")).to_have_count(0)
    assert_accessible_in_both_themes(page)


def test_settings_are_accessible_and_fit_a_phone_in_three_languages(
    admin_page: Page, new_page: NewPage
) -> None:
    admin_page.goto("/settings")
    expect(admin_page.get_by_label("They belong to")).to_be_visible()
    assert_accessible_in_both_themes(admin_page)
    page = new_page(signed_in=True, size=NARROW)
    for language in each_language(page, "/settings"):
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("form")).to_have_count(3)
        assert_fits_the_screen(page)
        assert_translated(page)
