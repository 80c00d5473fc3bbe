"""Tabs that are warm: the first page of a new browser context costs three times the CPU of the next one.

A tab goes from test to test, with nothing of the former one in it: no cookies, no storage, no routes. One
that cannot be made clean is closed. They belong to one Corral, whose address they know.
"""

from typing import Literal

from playwright.sync_api import Browser, Page

_FORGET = "() => { localStorage.clear(); sessionStorage.clear(); }"


class Tabs:
    def __init__(self, browser: Browser, url: str) -> None:
        self._browser = browser
        self._url = url
        self._idle: dict[str, list[Page]] = {}

    def take(self, theme: Literal["light", "dark"], size: tuple[int, int], language: str) -> Page:
        """A page in a browser context of its own; nothing is loaded yet."""
        width, height = size
        idle = self._idle.setdefault(language, [])
        if idle:
            page = idle.pop()
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=theme, reduced_motion="reduce")
            return page
        context = self._browser.new_context(
            base_url=self._url,
            color_scheme=theme,
            viewport={"width": width, "height": height},
            locale=language,
            timezone_id="Asia/Taipei",
            reduced_motion="reduce",
        )
        context.set_default_timeout(20_000)
        return context.new_page()

    def give_back(self, page: Page, language: str) -> None:
        context = page.context
        if context.pages != [page] or not page.url.startswith(self._url):
            context.close()
            return
        page.unroute_all()
        page.evaluate(_FORGET)
        page.goto("about:blank")
        context.clear_cookies()
        context.clear_permissions()
        self._idle[language].append(page)

    def close(self) -> None:
        for pages in self._idle.values():
            for page in pages:
                page.context.close()
