"""Organisation, People: who is here, who may do what, and the ways in."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import NARROW, NewPage
from tests.browser.holding import hold_answers
from tests.browser.stories import PASSWORD, Story, choose, enter, expect_no_sideways_scroll, open_panel, row
from tests.live import LiveCorral


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def fill_account(page: Page, name: str, display_name: str) -> None:
    page.get_by_label("User name").fill(name)
    page.get_by_label("Your name").fill(display_name)
    page.get_by_label("Password", exact=True).fill(PASSWORD)


def test_first_administrator_is_taught_how_others_come_in(admin_page: Page) -> None:
    admin_page.goto("/people")
    expect(admin_page.get_by_text("1 person, 1 with more than the user role.")).to_be_visible()
    expect(admin_page.get_by_text("You are alone here")).to_be_visible()
    admin_page.get_by_role("button", name="New join code").click()
    open_panel(admin_page, "Invite")


def test_invited_person_joins_by_the_link_and_appears_in_the_list(
    admin_page: Page, new_page: NewPage, story: Story
) -> None:
    lab = story.organisation("Vision Lab")
    admin_page.goto(f"/people?organisation={lab}")
    admin_page.get_by_role("button", name="Invite", exact=True).click()
    panel = open_panel(admin_page, "Invite")
    panel.get_by_label("Mail address (optional)").fill("eleanor@example.org")
    panel.get_by_role("button", name="Create invitation link").click()
    shown = admin_page.get_by_role("dialog")
    expect(shown).to_contain_text("No mail was sent to eleanor@example.org")
    link = shown.locator("pre.secret").inner_text()
    shown.get_by_role("button", name="I have saved it").click()
    expect(row(admin_page, "eleanor@example.org")).to_contain_text("invited")

    invited = new_page()
    invited.goto(link)
    expect(invited.get_by_role("heading", name="Join Vision Lab")).to_be_visible()
    fill_account(invited, "eleanor", "Eleanor Tan")
    invited.get_by_role("button", name="Join Vision Lab").click()
    expect(invited.get_by_role("button", name=re.compile("Eleanor Tan"))).to_be_visible()

    expect(row(admin_page, "Eleanor Tan")).to_contain_text("Vision Lab")
    expect(row(admin_page, "eleanor@example.org")).to_have_count(0)


def test_class_joins_with_a_code_and_takes_a_seat(admin_page: Page, new_page: NewPage, story: Story) -> None:
    course = story.organisation("CS231")
    admin_page.goto(f"/people?panel=code&organisation={course}")
    panel = open_panel(admin_page, "Invite")
    panel.get_by_label("Seats").fill("2")
    panel.get_by_role("button", name="Create join code").click()
    code = panel.locator(".join-code").inner_text()
    expect(panel.get_by_text("0 of 2 seats taken")).to_be_visible()

    student = new_page()
    student.goto(f"/join?code={code}")
    student.get_by_role("button", name="Show what it opens").click()
    fill_account(student, "wei", "蔡偉俊")
    student.get_by_role("button", name="Join CS231").click()
    expect(student.get_by_text("蔡偉俊")).to_be_visible()

    expect(panel.get_by_text("1 of 2 seats taken")).to_be_visible()
    expect(row(admin_page, "蔡偉俊")).to_contain_text("CS231")
    panel.get_by_role("button", name="Withdraw").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    expect(panel.get_by_text("No join code is open.")).to_be_visible()


def test_import_is_refused_until_the_bad_line_is_corrected(admin_page: Page, story: Story) -> None:
    story.organisation("Robotics")
    admin_page.goto("/people/import")
    choose(admin_page, "Organisation", "Robotics")
    lines = admin_page.get_by_role("textbox", name="Lines")
    lines.fill("name,display_name,mail\nsanne,Sanne de Vries,sanne@example.org\nkofi,Kofi Asante,no mail\n")
    admin_page.get_by_role("button", name="Check lines").click()
    expect(admin_page.get_by_text("1 of 2 lines cannot be imported.")).to_be_visible()
    expect(row(admin_page, "Kofi Asante")).to_contain_text("This is not a mail address.")
    expect(admin_page.get_by_role("button", name="Import")).to_have_count(0)

    lines.fill(
        "name,display_name,mail\nsanne,Sanne de Vries,sanne@example.org\nkofi,Kofi Asante,kofi@example.org\n"
    )
    admin_page.get_by_role("button", name="Check lines").click()
    expect(admin_page.get_by_text("Nothing has happened yet.")).to_be_visible()
    admin_page.get_by_role("button", name="Import 2 people").click()
    expect(admin_page.get_by_text("2 accounts created, 0 added.")).to_be_visible()
    with admin_page.expect_download() as download:
        admin_page.get_by_role("button", name="Download as CSV").click()
    written = download.value.path().read_text(encoding="utf-8").splitlines()
    assert written[0] == "name,display_name,mail,login_link,expires_at"
    assert written[1].startswith("sanne,Sanne de Vries,sanne@example.org,http")
    assert len(written) == 3

    admin_page.get_by_role("link", name="Go to People").click()
    expect(row(admin_page, "Kofi Asante")).to_contain_text("Robotics")


def test_role_that_is_given_or_taken_changes_the_menu_of_the_person_at_once(
    admin_page: Page, new_page: NewPage, story: Story
) -> None:
    helena = story.person("helena", "Helena Novak", organisation=story.organisation("Language Group"))
    theirs = new_page()
    enter(theirs, helena)
    theirs.goto("/")
    menu = theirs.get_by_role("navigation", name="Main menu")
    expect(menu.get_by_role("link", name="Organisations")).to_be_visible()
    expect(menu.get_by_role("link", name="People")).to_have_count(0)

    admin_page.goto(f"/people?person={helena.id}")
    panel = open_panel(admin_page, "Helena Novak")
    panel.get_by_role("button", name="Grant a role").click()
    choose(admin_page, "Role", "Organisation administrator")
    expect(panel.get_by_text("Allows in Language Group and below")).to_be_visible()
    panel.get_by_role("button", name="Grant role", exact=True).click()
    expect(panel.get_by_text("Create, change and disable people in Language Group")).to_be_visible()
    expect(menu.get_by_role("link", name="People")).to_be_visible()

    panel.get_by_role("button", name="Revoke Organisation administrator on Language Group").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Revoke role").click()
    expect(menu.get_by_role("link", name="People")).to_have_count(0)
    expect(panel.get_by_text("Organisation administrator")).to_have_count(0)


def test_person_is_disabled_and_enabled_and_gets_a_login_link(admin_page: Page, story: Story) -> None:
    yusuf = story.person("yusuf", "Yusuf Haddad")
    admin_page.goto("/people")
    row(admin_page, "Yusuf Haddad").click()
    panel = open_panel(admin_page, "Yusuf Haddad")
    panel.get_by_role("button", name="Login link").click()
    shown = admin_page.get_by_role("dialog")
    expect(shown.locator("pre.secret")).to_contain_text("/login#once=")
    shown.get_by_role("button", name="I have saved it").click()

    panel.get_by_role("button", name="Disable account").click()
    admin_page.get_by_role("dialog").get_by_role("button", name="Disable account").click()
    expect(row(admin_page, "Yusuf Haddad")).to_contain_text("disabled")
    panel.get_by_role("button", name="Enable account").click()
    expect(panel.get_by_role("button", name="Disable account")).to_be_visible()
    assert story.call("GET", f"/users/{yusuf.id}")["state"] == "active"


def test_account_is_deleted_after_its_name_was_typed(admin_page: Page, story: Story) -> None:
    person = story.person("leaver", "Lea Vermeer")
    admin_page.goto(f"/people?person={person.id}")
    panel = open_panel(admin_page, "Lea Vermeer")
    panel.get_by_role("button", name="Delete account").click()
    dialog = admin_page.get_by_role("dialog").filter(has_text="Delete Lea Vermeer?")
    act = dialog.get_by_role("button", name="Delete account")
    expect(act).to_be_disabled()
    dialog.get_by_role("textbox").fill("leaver")
    act.click()
    expect(panel).to_have_count(0)
    expect(row(admin_page, "Lea Vermeer")).to_have_count(0)


def test_account_that_is_deleted_is_not_asked_for_while_the_answer_is_on_its_way(
    admin_page: Page, story: Story
) -> None:
    person = story.person("parting", "Parvati Singh")
    path = f"/api/v1/users/{person.id}"
    admin_page.goto(f"/people?person={person.id}")
    panel = open_panel(admin_page, "Parvati Singh")
    held = hold_answers(admin_page, "DELETE", path)
    panel.get_by_role("button", name="Delete account").click()
    dialog = admin_page.get_by_role("dialog").filter(has_text="Delete Parvati Singh?")
    dialog.get_by_role("textbox").fill("parting")
    dialog.get_by_role("button", name="Delete account").click()
    # The list hears of it from the event stream.
    expect(row(admin_page, "Parvati Singh")).to_have_count(0)
    expect(panel).to_be_visible()
    held.let_go()
    expect(panel).to_have_count(0)


def test_own_save_is_not_taken_for_somebody_elses_and_leaves_what_is_typed_elsewhere(
    admin_page: Page, story: Story
) -> None:
    person = story.person("rosa", "Rosa Lind")
    path = f"/api/v1/users/{person.id}"
    admin_page.goto(f"/people?person={person.id}")
    panel = open_panel(admin_page, "Rosa Lind")
    panel.get_by_role("button", name="Change", exact=True).click()
    panel.get_by_label("Name", exact=True).fill("Rosa Lindqvist")
    choose(admin_page, "Priority", "3")
    held = hold_answers(admin_page, "PATCH", path)
    with admin_page.expect_response(
        lambda answer: answer.url.endswith(path) and answer.request.method == "GET"
    ):
        panel.get_by_role("button", name="Save priority").click()
    held.let_go()
    expect(panel.get_by_role("button", name="Save priority")).to_have_count(0)
    expect(panel.get_by_text("Someone else changed this in the meantime.")).to_have_count(0)
    panel.get_by_role("button", name="Save name and mail").click()
    expect(open_panel(admin_page, "Rosa Lindqvist")).to_contain_text("Signs in as rosa")
    saved = story.call("GET", f"/users/{person.id}")
    assert (saved["display_name"], saved["priority"]) == ("Rosa Lindqvist", 3)


def test_closed_dialog_is_out_of_the_way_while_it_fades(admin_page: Page, story: Story) -> None:
    person = story.person("ines", "Ines Moreau")
    admin_page.emulate_media(reduced_motion="no-preference")
    admin_page.goto(f"/people?person={person.id}")
    panel = open_panel(admin_page, "Ines Moreau")
    panel.get_by_role("button", name="Login link").click()
    kept = admin_page.get_by_role("button", name="I have saved it")
    expect(kept).to_be_visible()
    below = panel.get_by_role("button", name="Disable account").element_handle()
    # In the frames after the click, which are fewer than the fading takes.
    reached = kept.evaluate(
        """async (button, below) => {
            const box = below.getBoundingClientRect();
            const top = () => document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
            const covered = !below.contains(top());
            button.click();
            for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
            return [covered, below.contains(top())];
        }""",
        below,
    )
    assert reached == [True, True]


def test_several_people_get_a_priority_at_once(admin_page: Page, story: Story) -> None:
    for name, display_name in (("ada", "Ada Berg"), ("leo", "Leo Park")):
        story.person(name, display_name)
    admin_page.goto("/people")
    for display_name in ("Ada Berg", "Leo Park"):
        admin_page.get_by_role("checkbox", name=f"Select {display_name}").check()
    expect(admin_page.get_by_text("2 people selected")).to_be_visible()
    choose(admin_page, "Set priority", "Priority 4")
    expect(admin_page.get_by_text("2 people selected")).to_have_count(0)
    expect(row(admin_page, "Ada Berg").get_by_text("4", exact=True)).to_be_visible()
    expect(row(admin_page, "Leo Park").get_by_text("4", exact=True)).to_be_visible()


def test_filters_live_in_the_address_and_say_which_one_to_drop(admin_page: Page, story: Story) -> None:
    story.person("nina", "Nina Novotny")
    admin_page.goto("/people?search=novotny&state=disabled")
    expect(admin_page.get_by_text("Nobody matches “novotny”, Disabled")).to_be_visible()
    expect(admin_page.get_by_text("1 without the state.")).to_be_visible()
    admin_page.get_by_role("button", name="Any state").click()
    expect(row(admin_page, "Nina Novotny")).to_be_visible()
    expect(admin_page).to_have_url(re.compile(r"search=novotny$"))


def test_account_that_was_asked_for_is_approved(admin_page: Page, page: Page, story: Story) -> None:
    story.call("PUT", "/settings/registration", {"sign_up": True, "organisation_id": story.root()})
    answer = page.request.post(
        "/api/v1/sign-up",
        data={
            "name": "mateo",
            "display_name": "Mateo Cruz",
            "mail": "mateo@example.org",
            "password": PASSWORD,
        },
    )
    assert answer.ok, answer.text()
    admin_page.goto("/people?state=pending")
    row(admin_page, "Mateo Cruz").click()
    panel = open_panel(admin_page, "Mateo Cruz")
    panel.get_by_role("button", name="Approve account").click()
    expect(panel.get_by_role("button", name="Login link")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_people_with_an_open_person_are_accessible(new_page: NewPage, story: Story, theme: str) -> None:
    person = story.person(f"axe.{theme}", f"Axe {theme}")
    page = new_page(signed_in=True, theme="dark" if theme == "dark" else "light")
    page.goto(f"/people?person={person.id}")
    panel = open_panel(page, person.display_name)
    expect(panel.get_by_text("Together they allow")).to_be_visible()
    expect(panel.get_by_text("Not signed in anywhere.")).to_be_visible()
    expect(row(page, person.display_name)).to_be_visible()
    assert_accessible(page)


def test_people_invite_and_import_fit_a_phone_in_three_languages(new_page: NewPage) -> None:
    page = new_page(signed_in=True, size=NARROW)
    page.goto("/people/import")
    expect(page.locator("#csv")).to_be_visible()
    expect_no_sideways_scroll(page)
    for language, title in (("en", "People"), ("zh-TW", "成員"), ("zh-CN", "成员")):
        page.evaluate("language => localStorage.setItem('corral.language', language)", language)
        page.goto("/people?panel=code")
        expect(page.get_by_role("heading", name=title, exact=True)).to_be_attached()
        expect(page.locator(".phone-rows")).to_be_attached()
        expect(page.locator(".side-panel form")).to_be_visible()
        expect_no_sideways_scroll(page)
