"""Login: wrong tries, the way back, and the ways in for somebody without an account."""

import re
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import (
    assert_accessible_in_both_themes,
    assert_fits_the_screen,
    assert_translated,
    each_language,
)
from tests.browser.stories import PASSWORD, Person, Story, enter
from tests.browser.watching import PageWatch
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


@pytest.fixture
def sign_up_on(story: Story) -> Iterator[None]:
    def switch(on: bool) -> None:
        story.call("PUT", "/settings/registration", {"sign_up": on, "organisation_id": story.root()})

    switch(True)
    yield
    switch(False)


def made(story: Story, new_page: NewPage, name: str, display_name: str) -> Person:
    """A person who has chosen PASSWORD already."""
    person = story.person(name, display_name)
    elsewhere = new_page()
    enter(elsewhere, person)
    elsewhere.context.clear_cookies()
    return person


def fill_login(page: Page, name: str, password: str) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password", exact=True).fill(password)
    page.keyboard.press("Enter")


def fill_account(page: Page, name: str, display_name: str) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Your name").fill(display_name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)


def test_wrong_tries_are_counted_down_and_then_there_is_a_wait(
    page: Page, story: Story, new_page: NewPage, watch: PageWatch
) -> None:
    watch.allow_answer(429, "^/api/v1/session$")
    made(story, new_page, "amara", "Amara Diallo")
    made(story, new_page, "bruno", "Bruno Costa")
    page.goto("/login")
    expect(page.get_by_label("User name")).to_be_focused()
    password = page.get_by_label("Password", exact=True)
    password.dispatch_event("keydown", {"key": "A", "modifierCapsLock": True})
    expect(page.get_by_text("Caps lock is on.")).to_be_visible()
    password.dispatch_event("keyup", {"key": "CapsLock", "modifierCapsLock": False})
    expect(page.get_by_text("Caps lock is on.")).to_have_count(0)

    fill_login(page, "amara", "not her password")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("User name or password is wrong.")
    expect(notice).to_contain_text("9 tries left before you have to wait.")
    expect(password).to_be_focused()
    expect(password).to_have_value("")
    for _ in range(9):
        answer = page.request.post(
            "/api/v1/session", data={"provider": "local", "name": "amara", "password": "not her password"}
        )
        assert answer.status == 401
    fill_login(page, "amara", PASSWORD)
    expect(notice).to_contain_text("Too many failed attempts.")
    expect(notice).to_contain_text(re.compile(r"You can try again in 1[45] min"))
    expect(page.get_by_role("button", name="Sign in")).to_be_disabled()

    fill_login(page, "bruno", PASSWORD)
    expect(page.get_by_role("button", name=re.compile("Bruno Costa"))).to_be_visible()


def test_language_and_theme_chosen_at_the_door_stay_inside(
    page: Page, story: Story, new_page: NewPage
) -> None:
    made(story, new_page, "chiara", "Chiara Rossi")
    html = page.locator("html")
    page.goto("/login")
    expect(html).to_have_attribute("lang", "en")
    page.get_by_role("button", name="简体中文").click()
    expect(html).to_have_attribute("lang", "zh-CN")
    expect(page.get_by_role("button", name="登录")).to_be_visible()
    page.get_by_role("button", name="繁體中文").click()
    expect(html).to_have_attribute("lang", "zh-TW")
    expect(page.get_by_role("button", name="登入")).to_be_visible()
    theme = page.locator(".door-foot button").last
    theme.click()
    expect(html).to_have_attribute("data-theme", "light")
    theme.click()
    expect(html).to_have_attribute("data-theme", "dark")

    page.reload()
    expect(html).to_have_attribute("lang", "zh-TW")
    expect(html).to_have_attribute("data-theme", "dark")
    page.get_by_label("使用者名稱").fill("chiara")
    page.get_by_label("密碼", exact=True).fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="主選單")).to_be_visible()
    expect(html).to_have_attribute("lang", "zh-TW")
    expect(html).to_have_attribute("data-theme", "dark")


def test_login_leads_back_to_the_page_that_was_asked_for_and_nowhere_else(
    page: Page, story: Story, new_page: NewPage
) -> None:
    made(story, new_page, "dmitri", "Dmitri Volkov")
    page.goto("/profile?tab=sshKeys")
    page.wait_for_url("**/login?next=*")
    fill_login(page, "dmitri", PASSWORD)
    expect(page.get_by_text("No SSH key yet")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/profile\?tab=sshKeys$"))

    home = re.compile(r"^http://127\.0\.0\.1:\d+/$")
    page.get_by_role("button", name=re.compile("Dmitri Volkov")).click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.wait_for_url("**/login")
    page.go_back()
    expect(page.get_by_label("User name")).to_be_visible()
    page.goto("/login?next=//evil.example/login")
    fill_login(page, "dmitri", PASSWORD)
    expect(page.get_by_text("Nothing of yours runs or waits.")).to_be_visible()
    expect(page).to_have_url(home)
    for evil in ("https://evil.example", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)"):
        page.goto(f"/login?next={quote(evil, safe='')}")
        expect(page.get_by_text("Nothing of yours runs or waits.")).to_be_visible()
        expect(page).to_have_url(home)


def test_account_that_is_asked_for_opens_once_it_is_approved(
    page: Page, story: Story, sign_up_on: None, watch: PageWatch
) -> None:
    page.goto("/login")
    page.get_by_role("link", name="Ask for one").click()
    expect(page.get_by_role("heading", name="Ask for an account")).to_be_visible()
    fill_account(page, "Emre!", "Emre Yilmaz")
    page.get_by_label("Mail").fill("emre")
    page.get_by_role("button", name="Ask for an account").click()
    expect(page.get_by_text("Lowercase letters, digits and single dots")).to_be_visible()
    expect(page.get_by_text("An address such as ada@example.org.")).to_be_visible()
    # Our words in our language, not the browser's own over them.
    expect(page.locator("form[novalidate]")).to_have_count(1)
    page.get_by_label("User name").fill("emre")
    page.get_by_label("Mail").fill("emre@example.org")
    page.get_by_role("button", name="Ask for an account").click()
    expect(page.get_by_text("Your account is waiting for approval.")).to_be_visible()

    page.get_by_role("link", name="Sign in").click()
    watch.allow_answer(403, "^/api/v1/session$")
    fill_login(page, "emre", PASSWORD)
    expect(page.get_by_role("alert")).to_contain_text("approv")
    asked = story.call("GET", "/users?state=pending")["items"]
    assert [person["name"] for person in asked] == ["emre"]
    story.call("PATCH", f"/users/{asked[0]['id']}", {"state": "active"})
    fill_login(page, "emre", PASSWORD)
    expect(page.get_by_role("button", name=re.compile("Emre Yilmaz"))).to_be_visible()


def test_code_is_typed_at_the_door_and_later_at_home(page: Page, story: Story, watch: PageWatch) -> None:
    def code(organisation: str) -> str:
        wanted = {"organisation_id": story.organisation(organisation), "role_id": story.role("user")}
        made = story.call("POST", "/join-codes", wanted | {"seats": 3, "expires_in_hours": 2})
        return str(made.get("code") or made["join_code"]["code"])

    watch.allow_answer(404, "^/api/v1/join/preview$")
    page.goto("/login")
    page.get_by_role("link", name="Join with a code").click()
    page.get_by_label("Join code").fill("wrong-code")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(
        "There is no such join code, or it is full or has expired."
    )
    page.get_by_label("Join code").fill(f" {code('CS231')} ")
    page.get_by_role("button", name="Show what it opens").click()
    expect(page.get_by_text("You join with the role User. 3 seats are left.")).to_be_visible()
    fill_account(page, "farah", "Farah Aziz")
    page.get_by_role("button", name="Join CS231").click()
    expect(page.get_by_text("You belong to CS231.")).to_be_visible()

    page.get_by_role("button", name="Join…").click()
    panel = page.get_by_role("complementary", name="Join with a code")
    panel.get_by_label("Join code").fill(code("CS330"))
    panel.get_by_role("button", name="Join with a code").click()
    expect(page.get_by_text("You joined CS330.")).to_be_visible()
    expect(page.get_by_text("You belong to CS231, CS330.")).to_be_visible()


def test_doors_are_accessible(page: Page, new_page: NewPage, sign_up_on: None, watch: PageWatch) -> None:
    watch.allow_answer(404, "^/api/v1/invitations/preview$")
    for path in ("/login", "/join", "/sign-up", "/join#invitation=gone"):
        page.goto(path)
        expect(page.locator(".door-main form, .door-main [role=alert]").first).to_be_visible()
        assert_accessible_in_both_themes(page)
    narrow = new_page(size=NARROW)
    narrow.goto("/login")
    expect(narrow.get_by_label("User name")).to_be_visible()
    assert_accessible_in_both_themes(narrow)


def test_doors_fit_a_phone_in_three_languages(new_page: NewPage, sign_up_on: None) -> None:
    page = new_page(size=NARROW)
    for language in each_language(page, "/login"):
        for path in ("/login", "/join", "/sign-up"):
            page.goto(path)
            expect(page.locator("form")).to_be_visible()
            expect(page.locator("html")).to_have_attribute("lang", language)
            page.locator("form button[type=submit]").click()
            expect(page.locator(".ant-form-item-explain-error").first).to_be_visible()
            assert_fits_the_screen(page)
            assert_translated(page)
