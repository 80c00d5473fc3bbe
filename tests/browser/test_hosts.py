"""Hosts in the console: the one that serves the page, and one that is silent and is deleted by clicks."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import NARROW, NewPage
from tests.browser.looks import (
    assert_accessible_in_both_themes,
    assert_fits_the_screen,
    assert_translated,
    each_language,
)
from tests.browser.stories import Story, enter, open_panel, row
from tests.live import LiveCorral

GONE = "0" * 32


@pytest.fixture
def story(live_corral: LiveCorral) -> Story:
    return Story(live_corral)


@pytest.fixture
def silent(live_corral: LiveCorral) -> Iterator[str]:
    """A host that has not reported for a long time; its id."""
    with closing(sqlite3.connect(live_corral.home / "corral.db", timeout=30)) as database:
        columns = [name for (_, name, *_) in database.execute("PRAGMA table_info(host)")]
        (known,) = database.execute(f"SELECT {', '.join(columns)} FROM host LIMIT 1").fetchall()
        values = dict(zip(columns, known, strict=True))
        values |= {"id": GONE, "name": "gpu-9", "url": "https://gpu-9.example:8710", "seen_at": 0}
        if isinstance(values["started_at"], str):
            values["seen_at"] = values["started_at"].replace("20", "19", 1)
        places = ", ".join("?" for _ in columns)
        database.execute(f"INSERT INTO host ({', '.join(columns)}) VALUES ({places})", list(values.values()))
        database.commit()
        yield GONE
        database.execute("DELETE FROM host WHERE id = ?", (GONE,))
        database.commit()


def test_silent_host_is_deleted_by_clicks_and_one_that_runs_is_not(
    admin_page: Page, story: Story, silent: str
) -> None:
    (here,) = [one for one in story.call("GET", "/hosts")["items"] if one["id"] != silent]
    admin_page.goto("/hosts")
    expect(admin_page.locator(".answer")).to_contain_text("2 hosts. gpu-9 is silent.")
    for word in ("Up", "local", story.corral.url):
        expect(row(admin_page, here["name"])).to_contain_text(word)
    row(admin_page, here["name"]).click()
    panel = open_panel(admin_page, here["name"])
    expect(panel).to_contain_text("A host whose Corral runs cannot be deleted.")
    expect(panel.get_by_role("button", name="Delete host")).to_have_count(0)
    panel.get_by_role("link", name="local").click()
    open_panel(admin_page, "local")

    admin_page.goto(f"/hosts?open={silent}")
    open_panel(admin_page, "gpu-9").get_by_role("button", name="Delete host").click()
    dialog = admin_page.get_by_role("dialog")
    expect(dialog).to_contain_text("Its zone and its work stay as they are.")
    dialog.get_by_role("textbox").fill("gpu-9")
    dialog.get_by_role("button", name="Delete host").click()
    expect(admin_page.locator(".answer")).to_contain_text("1 host. All are up.")
    assert [one["id"] for one in story.call("GET", "/hosts")["items"]] == [here["id"]]


def test_hosts_are_accessible(new_page: NewPage, silent: str) -> None:
    page = new_page(signed_in=True)
    for path in ("/hosts", f"/hosts?open={silent}"):
        page.goto(path)
        expect(page.locator("tr.ant-table-row")).to_have_count(2)
        assert_accessible_in_both_themes(page)


def test_hosts_speak_three_languages_on_a_phone(new_page: NewPage, silent: str) -> None:
    page = new_page(signed_in=True, size=NARROW)
    for path in ("/hosts", f"/hosts?open={silent}"):
        for _ in each_language(page, path):
            expect(page.locator(".answer")).to_be_visible()
            assert_translated(page)
            assert_fits_the_screen(page)


def test_people_who_may_not_read_the_system_have_no_page_of_hosts(page: Page, story: Story) -> None:
    enter(page, story.person("quiet", "Quiet Person"))
    page.goto("/")
    expect(page.get_by_role("link", name="Queues")).to_be_visible()
    expect(page.get_by_role("link", name="Hosts")).to_have_count(0)
