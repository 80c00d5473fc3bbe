"""Apps in real Chromium: opened with one click, and what their pages cannot do."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from corral_sdk import Client
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible
from tests.live import LiveCorral

PAGE = "<!doctype html><title>Mine</title><h1>Hello from work</h1>"


@pytest.fixture(scope="module")
def app_id(live_corral: LiveCorral, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("site")
    (folder / "index.html").write_text(PAGE)
    client = Client(environ={"CORRAL_HOME": str(live_corral.home), "HOME": "/nonexistent"})
    work = client.training.submit(
        {
            "name": "site",
            "command": ["python3", "-m", "http.server", "8000"],
            "upload_id": client.uploads.send_directory(folder).id,
            "resources": {"cpu_milli": 200, "memory_mib": 256},
            "ports": ["web=8000/http"],
            "readiness": "web",
        }
    )
    deadline = time.monotonic() + 60
    while client.workloads.get(work.id).ready_at is None:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    yield work.id
    client.workloads.stop(work.id)


@pytest.fixture
def opened(admin_page: Page, app_id: str) -> Iterator[Page]:
    """The app's own page, in the tab that the button opens."""
    admin_page.goto(f"/workloads/{app_id}")
    with admin_page.context.expect_page() as tab:
        admin_page.get_by_role("link", name="Open", exact=True).click()
    expect(tab.value.get_by_role("heading", name="Hello from work")).to_be_visible()
    yield tab.value
    tab.value.close()


def test_app_opens_with_one_click_on_a_host_name_of_its_own(
    admin_page: Page, opened: Page, app_id: str
) -> None:
    assert opened.url.startswith(f"http://{app_id}--8000.localhost:")
    assert_accessible(admin_page)
    opened.reload()
    expect(opened.get_by_role("heading", name="Hello from work")).to_be_visible()


def test_page_of_an_app_has_nothing_of_the_console(
    live_corral: LiveCorral, admin_page: Page, opened: Page
) -> None:
    assert opened.evaluate("document.cookie") == ""
    tried = opened.evaluate(
        """async (url) => {
            const api = url + '/api/v1/session';
            const read = await fetch(api, {credentials: 'include'}).then(() => 'read', () => 'refused');
            const posted = await fetch(api, {method: 'DELETE', credentials: 'include', mode: 'cors'})
                .then(() => 'done', () => 'refused');
            return [read, posted];
        }""",
        live_corral.url,
    )
    assert tried == ["refused", "refused"]
    admin_page.reload()
    expect(admin_page.get_by_role("heading", level=1)).to_have_text("site")


def test_cookie_that_an_app_plants_changes_nothing(
    live_corral: LiveCorral, admin_page: Page, opened: Page
) -> None:
    opened.evaluate(
        """(port) => {
            for (const domain of ['', '; domain=localhost', '; domain=.localhost', '; domain=127.0.0.1'])
                for (const name of ['corral-app', `corral_session_${port}`])
                    document.cookie = `${name}=planted; path=/${domain}`;
        }""",
        live_corral.port,
    )
    opened.reload()
    expect(opened.get_by_role("heading", name="Hello from work")).to_be_visible()
    admin_page.reload()
    expect(admin_page.get_by_role("heading", level=1)).to_have_text("site")


def test_app_is_shown_in_no_page_of_another_origin(opened: Page) -> None:
    other = opened.url.replace("--8000.", ".")
    framed = opened.evaluate(
        """async (url) => {
            const frame = document.createElement('iframe');
            const loaded = new Promise(resolve => { frame.onload = resolve; });
            frame.src = url; document.body.append(frame); await loaded;
            try { return frame.contentDocument?.body.innerText ?? 'closed'; } catch { return 'closed'; }
        }""",
        other,
    )
    assert "Hello" not in framed


def test_visitor_without_a_ticket_is_led_to_the_console(admin_page: Page, app_id: str, opened: Page) -> None:
    fresh = admin_page.context.new_page()
    fresh.goto(opened.url.replace("--8000.", "."))
    fresh.get_by_role("link", name="Open it").click()
    expect(fresh.get_by_role("heading", name="Hello from work")).to_be_visible()
    assert fresh.url.startswith(f"http://{app_id}.localhost:")
    fresh.close()
