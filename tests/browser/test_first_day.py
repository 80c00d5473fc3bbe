"""The first day: from the printed login link to the first invitation that arrives by mail."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NewPage
from tests.browser.looks import assert_accessible_in_both_themes
from tests.browser.mail import mail_server_beside
from tests.browser.stories import PASSWORD, choose, open_panel
from tests.browser.watching import PageWatch
from tests.live import LiveCorral
from tests.platform.smtp import MailServer

EVERYTHING_KEPT = """
() => {
  const history = navigation.entries().map((entry) => entry.url);
  return JSON.stringify([location.href, history, {...localStorage}, {...sessionStorage}]);
}
"""


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server_beside() as server:
        yield server


def step(page: Page, title: str) -> Locator:
    return page.locator("li.step", has_text=title)


def printed_link(corral: LiveCorral) -> str:
    found = re.search(r"http\S+/login#once=\S+", corral.log.read_text())
    assert found, "corral up printed no login link"
    return found.group()


def choose_first_password(page: Page, corral: LiveCorral) -> None:
    page.goto("/people")
    expect(page.get_by_role("heading", name="Choose your password")).to_be_visible()
    assert_accessible_in_both_themes(page)
    password = page.get_by_label("New password")
    expect(password).to_be_focused()
    password.fill("short")
    page.get_by_role("button", name="Set password and continue").click()
    expect(page.locator(".ant-form-item-explain-error")).to_have_text("At least 10 characters.")
    password.fill(PASSWORD)
    page.keyboard.press("Enter")
    expect(page.get_by_text("1 of 5 first-day steps are done.")).to_be_visible()
    corral.changed_password = PASSWORD


def name_the_organisation(page: Page, visitor: Page) -> None:
    step(page, "Name your organisation").get_by_role("button", name="Name it…").click()
    panel = open_panel(page, "Name your organisation")
    panel.get_by_label("Name of the organisation").fill("Harbour University")
    panel.get_by_role("button", name="Save name").click()
    expect(panel).to_have_count(0)
    expect(step(page, "Name your organisation")).to_contain_text("Done")
    visitor.goto("/login")
    expect(visitor.get_by_role("heading", name="Harbour University")).to_be_visible()


def set_up_mail(page: Page, mail: MailServer) -> None:
    step(page, "Connect a mail server").get_by_role("button", name="Set up mail").click()
    test = page.get_by_role("button", name="Send test mail")
    expect(test).to_be_disabled()
    page.get_by_label("Mail server", exact=True).fill("127.0.0.1")
    page.get_by_label("Port").fill(str(mail.port))
    choose(page, "Encryption", "None, inside a trusted network only")
    page.get_by_label("Sender").fill("corral@example.org")
    expect(page.get_by_text("Enter a mail server and save, then test it.")).to_be_visible()
    page.get_by_role("button", name="Save mail settings").click()
    expect(page.get_by_text("Not tested since the last change.")).to_be_visible()

    page.get_by_label("Send to").fill("refused@example.org")
    test.click()
    expect(page.get_by_role("alert").filter(has_text="refused the recipient")).to_be_visible()
    page.get_by_label("Send to").fill("admin@example.org")
    test.click()
    expect(page.get_by_text("127.0.0.1 accepted the mail for admin@example.org")).to_be_visible()
    expect(page.get_by_text(re.compile(r"Tested \d\d:\d\d"))).to_be_visible()
    assert mail.recipients == [["admin@example.org"]]
    assert mail.mails[0]["From"] == "Corral <corral@example.org>"

    page.get_by_role("link", name="Home", exact=True).click()
    expect(step(page, "Connect a mail server")).to_contain_text("Done")


def invite_by_mail(page: Page, mail: MailServer) -> str:
    step(page, "Bring people in").get_by_role("button", name="Invite people").click()
    page.get_by_role("button", name="Invite", exact=True).click()
    panel = open_panel(page, "Invite")
    panel.get_by_label("Mail address (optional)").fill("eleanor@example.org")
    panel.get_by_role("button", name="Create invitation link").click()
    expect(page.get_by_role("dialog")).to_contain_text("The mail server accepted it for eleanor@example.org.")
    assert mail.recipients[-1] == ["eleanor@example.org"]
    body = mail.mails[-1].get_body(("plain",))
    assert body is not None
    found = re.search(r"http\S+/join#invitation=\S+", body.get_content())
    assert found, body.get_content()
    return found.group()


def test_first_day_from_the_printed_link_to_an_invitation_by_mail(
    page: Page, new_page: NewPage, live_corral: LiveCorral, mail: MailServer, watch: PageWatch
) -> None:
    link = printed_link(live_corral)
    secret = link.partition("#once=")[2]
    page.goto(link)
    page.wait_for_url("**/password")
    assert secret not in page.evaluate(EVERYTHING_KEPT)
    choose_first_password(page, live_corral)
    expect(page).to_have_url(re.compile(r":\d+/$"))
    assert secret not in page.evaluate(EVERYTHING_KEPT)
    expect(step(page, "Choose your own password")).to_contain_text("Done")

    watch.allow_answer(401, "^/api/v1/session/link$")
    second = new_page()
    second.goto(link)
    expect(second.get_by_role("alert")).to_contain_text("login link")
    expect(second.get_by_label("User name")).to_be_visible()
    assert secret not in second.evaluate(EVERYTHING_KEPT)

    name_the_organisation(page, second)
    watch.allow_answer(422, "^/api/v1/settings/mail/test$")
    set_up_mail(page, mail)
    invitation = invite_by_mail(page, mail)

    invited = new_page()
    invited.goto(invitation)
    expect(invited.get_by_role("heading", name="Join Harbour University")).to_be_visible()
    expect(invited.get_by_text("invites you with the role")).to_be_visible()
    assert invitation.partition("=")[2] not in invited.evaluate(EVERYTHING_KEPT)
    assert_accessible_in_both_themes(invited)
    invited.get_by_label("User name").fill("eleanor")
    invited.get_by_label("Your name").fill("Eleanor Tan")
    invited.get_by_label("Password", exact=True).fill(PASSWORD)
    invited.get_by_role("button", name="Join Harbour University").click()
    expect(invited.get_by_text("You belong to Harbour University.")).to_be_visible()

    page.get_by_role("button", name="I have saved it").click()
    page.get_by_role("link", name="Home", exact=True).click()
    expect(step(page, "Bring people in")).to_contain_text("Done")
    expect(page.get_by_text("4 of 5 first-day steps are done.")).to_be_visible()
