"""Profile: one's own name, language, password, tokens, keys and sessions."""

import re
import urllib.error
import urllib.request

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import (
    assert_accessible_in_both_themes,
    assert_fits_the_screen,
    assert_translated,
    each_language,
)
from tests.browser.stories import PASSWORD, Story, choose, enter, open_panel, row
from tests.browser.watching import PageWatch
from tests.live import LiveCorral

NEW_PASSWORD = "amber-meadow-signal-17"
TABS = ("account", "tokens", "sshKeys", "sessions")


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def sign_in_here(page: Page, name: str, password: str = PASSWORD) -> None:
    answer = page.request.post(
        "/api/v1/session", data={"provider": "local", "name": name, "password": password}
    )
    assert answer.ok, f"signing in: {answer.status} {answer.text()}"


def status_with_token(corral: LiveCorral, token: str) -> int:
    request = urllib.request.Request(
        f"{corral.url}/api/v1/organisations", headers={"Authorization": f"Bearer {token}"}
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refusal:
        with refusal:
            return refusal.code


def error_at(form: Page | Locator, label: str) -> Locator:
    item = form.locator(".ant-form-item").filter(has_text=label)
    return item.locator(".ant-form-item-explain-error")


def public_key(comment: str) -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return f"{key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()} {comment}"


def test_name_and_language_change_at_once_and_in_every_browser(
    page: Page, new_page: NewPage, story: Story, watch: PageWatch
) -> None:
    enter(page, story.person("ines", "Ines Maia"))
    other = new_page()
    sign_in_here(other, "ines")
    other.goto("/")
    expect(other.get_by_text(re.compile(r"^Live, \d"))).to_be_visible()
    page.goto("/profile")
    page.get_by_label("Mail").fill("ines at example")
    page.get_by_label("Your name").fill("Inês Maia")
    page.get_by_role("button", name="Save name and mail").click()
    expect(page.get_by_text("An address such as ada@example.org.")).to_be_visible()
    page.get_by_label("Mail").fill("ines@example.org")
    page.get_by_role("button", name="Save name and mail").click()
    expect(page.get_by_role("status").filter(has_text="Saved")).to_be_visible()
    expect(page.get_by_text("Signed in as Inês Maia.")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("Inês Maia"))).to_be_visible()
    expect(other.get_by_role("button", name=re.compile("Inês Maia"))).to_be_visible()

    choose(page, "Language", "繁體中文")
    expect(page.locator("html")).to_have_attribute("lang", "zh-TW")
    expect(page.get_by_role("heading", name="個人資料", exact=True)).to_be_visible()
    expect(other.locator("html")).to_have_attribute("lang", "zh-TW")
    page.get_by_text("深色", exact=True).click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(other.locator("html")).to_have_attribute("data-theme", "dark")

    later = new_page(language="zh-CN")
    sign_in_here(later, "ines")
    later.goto("/profile")
    expect(later.locator("html")).to_have_attribute("lang", "zh-TW")
    expect(later.locator("html")).to_have_attribute("data-theme", "dark")


def test_token_is_shown_once_works_and_is_refused_after_revocation(
    page: Page, story: Story, live_corral: LiveCorral
) -> None:
    enter(page, story.person("jonas", "Jonas Weber"))
    page.goto("/profile?tab=tokens")
    expect(page.get_by_text("No token yet")).to_be_visible()
    page.get_by_role("button", name="New token").first.click()
    panel = open_panel(page, "New token")
    panel.get_by_role("button", name="Create token").click()
    expect(panel.get_by_text("Name is required.")).to_be_visible()
    panel.get_by_label("Name").fill("nightly-report")
    panel.get_by_label("Only what I choose").check()
    panel.get_by_role("checkbox", name="See your own account").uncheck()
    panel.get_by_role("button", name="Create token").click()
    expect(panel.get_by_text("Choose at least one.")).to_be_visible()
    panel.get_by_role("checkbox", name="See organisations").check()
    panel.get_by_role("button", name="Create token").click()

    shown = page.get_by_role("dialog")
    expect(shown).to_contain_text("It cannot be shown again.")
    token = shown.locator("pre.secret").inner_text()
    page.keyboard.press("Escape")
    expect(shown).to_be_visible()
    shown.get_by_role("button", name="I have saved it").click()
    expect(shown).to_have_count(0)
    assert status_with_token(live_corral, token) == 200
    page.reload()
    expect(row(page, "nightly-report")).to_contain_text("See organisations")
    assert token.split("_", 2)[2] not in page.content()

    row(page, "nightly-report").get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("No token yet")).to_be_visible()
    assert status_with_token(live_corral, token) == 401


def test_ssh_key_is_explained_when_wrong_and_kept_when_right(
    page: Page, story: Story, watch: PageWatch
) -> None:
    watch.allow_answer(422, "^/api/v1/me/ssh-keys$")
    enter(page, story.person("keiko", "Keiko Mori"))
    page.goto("/profile?tab=sshKeys")
    page.get_by_role("button", name="Add SSH key").first.click()
    panel = open_panel(page, "Add SSH key")
    field = panel.get_by_label("Public key")
    field.fill("ssh-ed25519 AAAA broken@laptop")
    expect(panel.get_by_label("Title")).to_have_value("broken@laptop")
    panel.get_by_role("button", name="Add SSH key").click()
    expect(error_at(panel, "Public key")).to_contain_text("The key cannot be read; it may be truncated.")
    expect(panel.get_by_role("alert")).to_have_count(0)
    field.fill(public_key("keiko@laptop"))
    panel.get_by_label("Title").fill("laptop")
    panel.get_by_role("button", name="Add SSH key").click()
    expect(row(page, "laptop")).to_contain_text("SHA256:")
    expect(page.get_by_text("1 SSH key.")).to_be_visible()

    row(page, "laptop").get_by_role("button", name="Remove").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    expect(page.get_by_text("No SSH key yet")).to_be_visible()


def test_other_browsers_are_seen_and_ended_from_here(
    page: Page, new_page: NewPage, story: Story, watch: PageWatch
) -> None:
    watch.allow_answer(401, "^/api/v1/")
    watch.allow_answer(422, "^/api/v1/me/password$")
    second, third = new_page(), new_page()
    enter(second, story.person("lena", "Lena Fischer"))
    for browser in (page, third):
        sign_in_here(browser, "lena")
    second.goto("/profile")
    expect(second.get_by_text("Signed in as Lena Fischer.")).to_be_visible()
    page.goto("/profile?tab=sessions")
    expect(page.get_by_text("You are signed in on 3 browsers.")).to_be_visible()
    expect(row(page, "this one")).to_contain_text(re.compile(r"Chrom\w+ \d+, Linux"))
    ends = page.get_by_role("button", name="End", exact=True)
    expect(ends).to_have_count(2)
    ends.nth(0).click()
    expect(page.get_by_text("You are signed in on 2 browsers.")).to_be_visible()
    ends.nth(0).click()
    expect(page.get_by_text("This is the only one.")).to_be_visible()
    second.wait_for_url("**/login?next=*")
    expect(second.get_by_label("User name")).to_be_visible()

    sign_in_here(third, "lena")
    third.goto("/profile")
    expect(third.get_by_text("Signed in as Lena Fischer.")).to_be_visible()
    page.get_by_role("link", name="Account").click()
    page.get_by_label("Current password").fill("not her password")
    page.get_by_label("New password").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(error_at(page, "Current password")).to_contain_text("This is not your current password.")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("Password changed. Your other sessions have ended.")).to_be_visible()
    third.wait_for_url("**/login?next=*")
    third.get_by_label("User name").fill("lena")
    third.get_by_label("Password", exact=True).fill(NEW_PASSWORD)
    third.keyboard.press("Enter")
    expect(third.get_by_text("Signed in as Lena Fischer.")).to_be_visible()


def fill_profile(page: Page, story: Story, name: str) -> None:
    """A profile with something on every tab."""
    enter(page, story.person(name, "Marguerite Delacroix-Oyelaran"))
    csrf = {"X-CSRF-Token": page.request.get("/api/v1/session").json()["csrf_token"]}
    for path, body in (
        ("/me/tokens", {"name": "nightly-report", "scopes": ["organisations.read"]}),
        ("/me/ssh-keys", {"title": "laptop", "public_key": public_key("laptop")}),
    ):
        if path == "/me/tokens":
            body["expires_at"] = "2027-06-01T00:00:00Z"
        answer = page.request.post(f"/api/v1{path}", data=body, headers=csrf)
        assert answer.ok, answer.text()


def open_tab(page: Page, tab: str) -> None:
    page.goto(f"/profile?tab={tab}")
    expect(page.locator("form, .ant-table-row, .phone-rows").first).to_be_visible()


def test_profile_is_accessible(page: Page, story: Story) -> None:
    fill_profile(page, story, "marguerite")
    for tab in TABS:
        open_tab(page, tab)
        if tab in {"tokens", "sshKeys"}:
            page.locator(".header .actions .ant-btn-primary").click()
            expect(page.locator(".side-panel form")).to_be_visible()
        assert_accessible_in_both_themes(page)


def test_profile_fits_a_phone_in_three_languages(new_page: NewPage, story: Story) -> None:
    page = new_page(size=NARROW)
    fill_profile(page, story, "nadia")
    for language in each_language(page):
        for tab in TABS:
            open_tab(page, tab)
            expect(page.locator("html")).to_have_attribute("lang", language)
            assert_fits_the_screen(page)
            assert_translated(page)


def test_new_password_after_ones_own_login_link_needs_no_old_one(page: Page, story: Story) -> None:
    rosa = story.person("rosa", "Rosa Lind", role="organisation_administrator")
    enter(page, rosa)
    session = page.request.get("/api/v1/session").json()
    link = page.request.post(
        f"/api/v1/users/{rosa.id}/login-link", headers={"X-CSRF-Token": session["csrf_token"]}
    )
    assert link.ok, link.text()
    page.context.clear_cookies()
    page.goto(link.json()["url"])
    expect(page.get_by_role("button", name=re.compile("Rosa Lind"))).to_be_visible()
    page.goto("/profile")
    expect(page.get_by_label("New password")).to_be_visible()
    expect(page.get_by_label("Current password")).to_have_count(0)
    page.get_by_label("New password").fill(NEW_PASSWORD)
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_label("Current password")).to_be_visible()
    page.context.clear_cookies()
    sign_in_here(page, "rosa", NEW_PASSWORD)
