"""The frame of the browser tests notices what it promises to notice."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route

from tests.browser.accessibility import assert_accessible
from tests.browser.watching import PageWatch


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


@pytest.fixture
def watched(blank: Page) -> PageWatch:
    watch = PageWatch()
    watch.follow(blank)
    return watch


def serve(page: Page, body: str, status: int = 200) -> None:
    """The page at http://corral.test/ loads this document; its /missing answers the status."""

    def answer(route: Route) -> None:
        if route.request.url.endswith("/missing"):
            route.fulfill(status=status, body="")
        elif route.request.url.endswith("/broken"):
            route.abort("connectionrefused")
        else:
            route.fulfill(
                body=f"<!doctype html><html lang=en><title>t</title>{body}", content_type="text/html"
            )

    page.route("**/*", answer)
    page.goto("http://corral.test/")
    page.wait_for_load_state("networkidle")


def test_visitor_is_shown_the_login_page(page: Page) -> None:
    page.goto("/")
    page.wait_for_url("**/login**")


def test_administrator_is_past_the_login_page(admin_page: Page) -> None:
    with admin_page.expect_response("**/api/v1/session") as session:
        admin_page.goto("/")
    assert session.value.json()["user"]["name"] == "admin"
    assert "/login" not in admin_page.url


def test_script_error_is_noticed(blank: Page, watched: PageWatch) -> None:
    serve(blank, "<script>missingFunction()</script>")
    assert watched.troubles == ["script error: missingFunction is not defined"]


def test_console_error_is_noticed_unless_allowed(blank: Page, watched: PageWatch) -> None:
    watched.allow_message("on purpose")
    serve(blank, "<script>console.error('on purpose'); console.error('by mistake')</script>")
    assert watched.troubles == ["console error: by mistake"]


def test_bad_answer_is_noticed_with_its_path(blank: Page, watched: PageWatch) -> None:
    serve(blank, "<script>fetch('/missing')</script>", status=404)
    assert watched.troubles == ["404 for GET /missing"]


def test_bad_answer_that_the_test_provokes_is_allowed(blank: Page, watched: PageWatch) -> None:
    watched.allow_answer(404, "^/missing$")
    serve(blank, "<script>fetch('/missing')</script>", status=404)
    assert watched.troubles == []


def test_failed_request_is_noticed(blank: Page, watched: PageWatch) -> None:
    serve(blank, "<script>fetch('/broken').catch(() => {})</script>")
    assert watched.troubles == ["request failed: GET http://corral.test/broken: net::ERR_CONNECTION_REFUSED"]


def test_field_without_a_label_breaks_an_accessibility_rule(blank: Page) -> None:
    serve(blank, "<main><h1>Title</h1><input type=text></main>")
    with pytest.raises(AssertionError, match="label"):
        assert_accessible(blank)


def test_faint_text_breaks_the_contrast_rule(blank: Page) -> None:
    serve(blank, "<main><h1>Title</h1><p style='color:#bbb;background:#fff'>faint</p></main>")
    with pytest.raises(AssertionError, match="color-contrast"):
        assert_accessible(blank)


def test_labelled_page_is_accessible(blank: Page) -> None:
    serve(blank, "<main><h1>Title</h1><label>Name <input type=text></label></main>")
    assert_accessible(blank)
