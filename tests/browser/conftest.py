"""The console in real Chromium against a running Corral.

`page` is an anonymous visitor, `admin_page` is signed in as the first administrator, `new_page` opens
more of them with another theme, width or language. Script errors, failed requests and answers of 400
and above fail a test unless it allowed them on `watch` first; a failed test leaves a screenshot.
"""

import re
import shutil
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Literal, Protocol

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.tabs import Tabs
from tests.browser.watching import PageWatch
from tests.live import LiveCorral

ROOT = Path(__file__).parents[2]
CONSOLE = ROOT / "src" / "corral" / "server" / "console" / "index.html"
SCREENSHOTS = ROOT / ".cache" / "test" / "screenshots"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--in-process-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDE = (1440, 900)
NARROW = (390, 844)
# A busy machine takes longer than the usual five seconds to say the same.
expect.set_options(timeout=20_000)
_FAILED = pytest.StashKey[bool]()


class NewPage(Protocol):
    def __call__(
        self,
        *,
        signed_in: bool = False,
        theme: Literal["light", "dark"] = "light",
        size: tuple[int, int] = WIDE,
        language: str = "en",
    ) -> Page: ...


# For the package only: while Playwright runs, no other event loop can run in this thread.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium, "The browser tests need Chromium, and it is not on PATH: apt-get install chromium"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def watch() -> PageWatch:
    watch = PageWatch()
    # Every anonymous visitor asks who they are, and hears that they are nobody.
    watch.allow_answer(401, r"^/api/v1/session$")
    return watch


@pytest.fixture(scope="module")
def tabs(browser: Browser, live_corral: LiveCorral) -> Iterator[Tabs]:
    tabs = Tabs(browser, live_corral.url)
    yield tabs
    tabs.close()


@pytest.fixture
def new_page(
    tabs: Tabs, live_corral: LiveCorral, watch: PageWatch, request: pytest.FixtureRequest
) -> Iterator[NewPage]:
    """Opens pages, each in a browser context of its own; nothing is loaded yet."""
    assert CONSOLE.exists(), "The browser tests need the built console: make console"
    opened: list[tuple[Page, str]] = []

    def open_page(
        *,
        signed_in: bool = False,
        theme: Literal["light", "dark"] = "light",
        size: tuple[int, int] = WIDE,
        language: str = "en",
    ) -> Page:
        page = tabs.take(theme, size, language)
        opened.append((page, language))
        if signed_in:
            sign_in(page.context, live_corral)
        watch.follow(page)
        return page

    yield open_page

    failed = request.node.stash.get(_FAILED, False)
    if failed:
        save_screenshots(request.node.nodeid, [page.context for page, _ in opened])
    for page, language in opened:
        watch.leave(page)
        if failed:
            page.context.close()
        else:
            tabs.give_back(page, language)
    assert not watch.troubles, "in the page:\n" + "\n".join(watch.troubles)


@pytest.fixture
def page(new_page: NewPage) -> Page:
    """An anonymous visitor, light theme, wide, in English."""
    return new_page()


@pytest.fixture
def admin_page(new_page: NewPage) -> Page:
    """The first administrator, light theme, wide, in English."""
    return new_page(signed_in=True)


def sign_in(context: BrowserContext, corral: LiveCorral) -> None:
    """Gives the context the first administrator's session; the forms have tests of their own."""
    answer = context.request.post(
        "/api/v1/session",
        data={"provider": "local", "name": corral.admin_name, "password": corral.admin_password},
    )
    assert answer.ok, f"signing in: {answer.status} {answer.text()}"
    session = answer.json()
    if session["must_change_password"]:
        corral.changed_password = "quiet-harbour-lantern-42"
        answer = context.request.post(
            "/api/v1/me/password",
            data={"new_password": corral.changed_password},
            headers={"X-CSRF-Token": session["csrf_token"]},
        )
        assert answer.ok, f"changing the first password: {answer.status} {answer.text()}"


def save_screenshots(test: str, contexts: list[BrowserContext]) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^\w.-]+", "-", test.removeprefix("tests/browser/"))
    pages = [page for context in contexts for page in context.pages]
    for number, page in enumerate(pages, 1):
        path = SCREENSHOTS / f"{name}-{number}.png"
        page.screenshot(path=path, full_page=True)
        print(f"screenshot: {path.relative_to(ROOT)}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report
