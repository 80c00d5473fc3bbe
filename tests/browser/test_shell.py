"""What stands around every page: menu, palette, switcher, theme, language, live data, errors, the phone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import (
    assert_accessible_in_both_themes,
    assert_fits_the_screen,
    assert_translated,
    each_language,
)
from tests.browser.stories import Story, enter
from tests.browser.watching import PageWatch
from tests.live import LiveCorral

LIVE = re.compile(r"^Live, \d\d:\d\d:\d\d$")


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


def menu(page: Page) -> Locator:
    return page.get_by_role("navigation", name="Main menu")


def lang(page: Page, language: str) -> None:
    expect(page.locator("html")).to_have_attribute("lang", language)


def theme(page: Page, name: str) -> None:
    expect(page.locator("html")).to_have_attribute("data-theme", name)


def test_role_decides_what_is_in_the_menu_and_what_is_refused(page: Page, story: Story) -> None:
    enter(page, story.person("quentin", "Quentin Moreau"))
    page.goto("/")
    expect(page.get_by_text("Nothing of yours runs or waits.")).to_be_visible()
    work, cluster = ["Training", "All workloads"], ["Queues", "Zones and nodes"]
    offered = ["Home", *work, "Runtimes", "Secrets", *cluster, "Organisations", "Flavors"]
    expect(menu(page).get_by_role("link")).to_have_text(offered)
    assert_accessible_in_both_themes(page)
    for path, needed in (("/people", "See people"), ("/settings", "See settings"), ("/audit", "audit log")):
        page.goto(path)
        expect(page.get_by_text("Your roles do not allow this page.")).to_be_visible()
        expect(page.get_by_text("It needs the permission")).to_contain_text(needed)
    assert_accessible_in_both_themes(page)

    page.goto("/no/such/page")
    expect(page.get_by_text("There is nothing at this address.")).to_be_visible()
    assert_accessible_in_both_themes(page)
    page.get_by_role("link", name="Go to Home").click()
    expect(page.get_by_text("Nothing of yours runs or waits.")).to_be_visible()


def test_palette_needs_no_mouse(page: Page, story: Story) -> None:
    enter(page, story.person("rosalind", "Rosalind Chen", role="organisation_administrator"))
    page.goto("/")
    expect(page.get_by_text("Nothing of yours runs or waits.")).to_be_visible()
    palette = page.get_by_role("dialog", name="Search or jump to")
    keys = page.keyboard
    keys.press("Control+k")
    expect(palette.get_by_role("combobox")).to_be_focused()
    assert_accessible_in_both_themes(page)
    keys.type("no such thing")
    expect(palette.get_by_text("Nothing matches “no such thing”.")).to_be_visible()
    keys.press("Enter")
    keys.press("Escape")
    expect(palette).to_have_count(0)

    keys.press("Control+k")
    keys.type("prof")
    expect(palette.get_by_role("option", selected=True)).to_have_text("Profile")
    keys.press("Enter")
    expect(palette).to_have_count(0)
    expect(page).to_have_url(re.compile(r"/profile$"))
    keys.press("Control+k")
    keys.type("rosal")
    expect(palette.get_by_role("option")).to_have_count(1)
    keys.press("Enter")
    expect(page.get_by_role("complementary", name="Rosalind Chen")).to_be_visible()
    keys.press("Control+k")
    keys.type("theme")
    expect(palette.get_by_role("option")).to_have_count(3)
    keys.press("ArrowDown")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Dark")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    expect(palette.get_by_role("option", selected=True)).to_contain_text("Light")
    keys.press("ArrowUp")
    keys.press("ArrowUp")
    keys.press("Enter")
    theme(page, "dark")


def test_keyboard_reaches_menu_page_and_account(admin_page: Page) -> None:
    page = admin_page
    page.goto("/")
    expect(page.get_by_role("button", name="Name it…")).to_be_visible()
    keys = page.keyboard
    keys.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to content")).to_be_in_viewport()
    for name in (
        "Corral, home",
        "Search or jump to",
        "Home",
        "Training",
        "All workloads",
        "Runtimes",
        "Secrets",
        "Queues",
    ):
        keys.press("Tab")
        focused = page.locator(":focus")
        expect(focused).to_have_accessible_name(re.compile(f"^{name}"))
        assert focused.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"
    keys.press("Enter")
    expect(page).to_have_url(re.compile(r"/queues$"))

    account = page.get_by_role("button", name=re.compile("Profile, theme, language, sign out"))
    account.focus()
    keys.press("Enter")
    items = page.get_by_role("menuitem")
    expect(items.first).to_be_visible()
    keys.press("Escape")
    expect(items.first).to_be_hidden()

    page.goto("/")
    name_it = page.get_by_role("button", name="Name it…")
    expect(name_it).to_be_visible()
    keys.press("Tab")
    keys.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for _ in range(12):
        keys.press("Tab")
        if name_it.evaluate("e => e === document.activeElement"):
            break
    keys.press("Enter")
    panel = page.get_by_role("complementary", name="Name your organisation")
    expect(panel).to_be_focused()
    keys.press("Escape")
    expect(panel).to_have_count(0)
    expect(name_it).to_be_focused()


def test_chosen_organisation_stays_from_page_to_page_until_all_are_shown_again(
    admin_page: Page, story: Story
) -> None:
    faculty = story.organisation("Science Faculty")
    story.organisation("Robotics Lab", faculty)
    story.person("sora", "Sora Ito", organisation=faculty)
    page = admin_page
    page.goto("/people")
    switcher = page.locator(".organisation-switcher")
    expect(switcher).to_contain_text("All organisations")
    rows = page.locator("tr.ant-table-row")
    expect(rows.filter(has_text="admin").first).to_be_visible()

    def switch(name: str) -> None:
        page.get_by_role("combobox", name="Organisation shown").click()
        page.locator(".ant-select-dropdown:visible").get_by_text(name, exact=True).click()

    switch("Science Faculty")
    expect(page).to_have_url(re.compile(f"organisation={faculty}"))
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("Sora Ito")
    menu(page).get_by_role("link", name="Home").click()
    expect(switcher).to_contain_text("Science Faculty")
    page.goto("/people")
    expect(switcher).to_contain_text("Science Faculty")
    expect(rows).to_have_count(1)

    switch("All organisations")
    expect(switcher).to_contain_text("All organisations")
    expect(page).to_have_url(re.compile(r"/people$"))
    expect(rows.filter(has_text="admin").first).to_be_visible()
    menu(page).get_by_role("link", name="Home").click()
    expect(switcher).to_contain_text("All organisations")


def test_theme_and_language_are_changed_from_the_account_menu(page: Page, story: Story) -> None:
    enter(page, story.person("tariq", "Tariq Hassan"))
    page.goto("/")
    block = page.locator(".user-block")

    def pick(name: str) -> None:
        block.click()
        page.get_by_role("menuitem", name=name, exact=True).click()

    theme(page, "light")
    pick("Dark")
    theme(page, "dark")
    pick("Light")
    page.emulate_media(color_scheme="dark")
    theme(page, "light")
    pick("System theme")
    theme(page, "dark")
    page.emulate_media(color_scheme="light")
    theme(page, "light")
    for name, language, home in (
        ("繁體中文", "zh-TW", "首頁"),
        ("简体中文", "zh-CN", "首页"),
        ("English", "en", "Home"),
    ):
        pick(name)
        lang(page, language)
        expect(page.get_by_role("heading", level=1)).to_have_text(home)
        assert_translated(page)
        expect(page).to_have_title(f"{home} · Corral")


def test_change_made_elsewhere_appears_without_reload(admin_page: Page, story: Story) -> None:
    admin_page.goto("/")
    expect(admin_page.get_by_text(LIVE)).to_be_visible()
    step = admin_page.locator("li.step", has_text="Name your organisation")
    expect(step).to_contain_text("To do")
    admin_page.evaluate("window.notReloaded = true")
    story.call("PATCH", f"/organisations/{story.root()}", {"name": "Harbour University"})
    expect(step).to_contain_text("Done")
    expect(admin_page.get_by_role("region", name="Last changes")).to_contain_text("Harbour University")
    menu(admin_page).get_by_role("link", name="Organisations").click()
    expect(admin_page.get_by_text("Harbour University").first).to_be_visible()
    story.organisation("Late Night Lab")
    expect(admin_page.get_by_text("Late Night Lab").first).to_be_visible()
    assert admin_page.evaluate("window.notReloaded")


def test_stopped_server_is_said_and_forgotten_when_it_is_back(
    admin_page: Page, live_corral: LiveCorral, story: Story, watch: PageWatch
) -> None:
    watch.allow_offline()
    watch.allow_answer(502, "^/api/v1/")
    watch.allow_answer(503, "^/api/v1/")
    page = admin_page
    # The code of the other pages is fetched ahead.
    with page.expect_response(re.compile(r"/SettingsPage-.*\.js$")) as ahead:
        page.goto("/")
    ahead.value.finished()
    expect(page.get_by_text(LIVE)).to_be_visible()
    expect(page.get_by_text("This machine")).to_be_visible()
    live_corral.stop()
    banner = page.get_by_role("status").filter(has_text="Connection lost at")
    expect(banner).to_be_visible()
    expect(page.get_by_text(re.compile(r"Trying again in \d+ s"))).to_be_visible()
    # What was on the screen stays there; what needs the server says so.
    expect(page.get_by_text("First day")).to_be_visible()
    menu(page).get_by_role("link", name="Settings").click()
    expect(page.get_by_text("Corral does not answer").first).to_be_visible()
    assert_accessible_in_both_themes(page)
    live_corral.start_again()
    expect(banner).to_have_count(0, timeout=30_000)
    story.organisation("After the Pause")
    menu(page).get_by_role("link", name="Organisations").click()
    expect(page.get_by_text("After the Pause").first).to_be_visible()
    menu(page).get_by_role("link", name="Settings").click()
    expect(page.get_by_label("Mail server", exact=True)).to_be_visible()


def test_home_is_accessible_wide_and_on_a_phone(admin_page: Page, new_page: NewPage) -> None:
    admin_page.goto("/")
    expect(admin_page.get_by_text("This machine")).to_be_visible()
    expect(admin_page.locator(".row.change").first).to_be_visible()
    admin_page.locator(".user-block").click()
    expect(admin_page.get_by_role("menuitem", name="Sign out")).to_be_visible()
    assert_accessible_in_both_themes(admin_page)
    narrow = new_page(signed_in=True, size=NARROW)
    narrow.goto("/")
    expect(narrow.locator(".row.change").first).to_be_visible()
    assert_accessible_in_both_themes(narrow)


def test_phone_has_menu_and_search_and_fits_in_three_languages(new_page: NewPage) -> None:
    page = new_page(signed_in=True, size=NARROW)
    for language in each_language(page):
        expect(page.locator(".row.change").first).to_be_visible()
        lang(page, language)
        assert_fits_the_screen(page)
        assert_translated(page)
        page.locator(".icon-button").last.click()
        expect(page.locator("dialog.palette input")).to_be_focused()
        assert_fits_the_screen(page)
        assert_translated(page)
        page.keyboard.press("Escape")
        page.locator(".icon-button").first.click()
        drawer = page.locator("dialog.menu-drawer")
        expect(drawer.locator(".user-block")).to_be_visible()
        assert_fits_the_screen(page)
        assert_translated(page)
        drawer.locator("a[href='/settings']").click()
        expect(drawer).to_have_count(0)
        page.goto("/nowhere")
        expect(page.locator(".answer")).to_be_visible()
        assert_fits_the_screen(page)
        assert_translated(page)
