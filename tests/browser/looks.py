"""What every page of the console keeps: accessible in both themes, no words missing, not too wide."""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from playwright.sync_api import Page, expect

from corral.core.permissions import Permission
from tests.browser.accessibility import assert_accessible

_CATALOGUES = Path(__file__).parents[2] / "web" / "src" / "i18n"
_THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
# Everything a person reads or hears, one text a line.
_TEXTS = """
() => {
  const names = ['aria-label', 'placeholder', 'title'];
  const spoken = [...document.querySelectorAll(names.map((name) => `[${name}]`).join())];
  const attributes = spoken.flatMap((element) => names.map((name) => element.getAttribute(name) ?? ''));
  return [document.title, document.body.innerText, ...attributes].join('\\n');
}
"""
# What sticks out of the screen, but for what scrolls by itself on purpose.
_OUTSIDE = """
() => {
  const width = document.documentElement.clientWidth + 1;
  return [...document.body.querySelectorAll('*')]
    .filter((element) => element.getBoundingClientRect().right > width && element.checkVisibility())
    .filter((element) => !element.closest('pre, .tab-bar, .visually-hidden, .skip'))
    .map(({tagName, className, textContent}) => `${tagName}.${className}: ${textContent.slice(0, 40)}`);
}
"""


# What moves for ever, such as a spinner, is not waited for.
_MOVED = """() => Promise.allSettled(document.getAnimations()
    .filter(one => one.effect?.getComputedTiming().endTime !== Infinity).map(one => one.finished))"""


@cache
def _untranslated() -> re.Pattern[str]:
    spaces = "|".join(json.loads((_CATALOGUES / "en.json").read_text(encoding="utf-8")))
    return re.compile(rf"(?<![\\w@.])(?:{spaces})(?:\\.[A-Za-z_]\\w*)+|\\{{\\{{.*")


def each_language(page: Page, path: str = "/") -> Iterator[str]:
    """Opens the path in each of the three languages, as the browser would have kept it."""
    page.goto(path)
    for language in json.loads((_CATALOGUES / "languages.json").read_text(encoding="utf-8")):
        page.evaluate("language => localStorage.setItem('corral.language', language)", language["key"])
        page.goto(path)
        yield language["key"]


def assert_accessible_in_both_themes(page: Page) -> None:
    """The page follows the system's theme, so that one load serves both."""
    for theme in _THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
        assert_accessible(page, only_colours=theme != _THEMES[0])


def assert_translated(page: Page) -> None:
    """No key of the catalogue stands where its words belong, and no placeholder is left."""
    names = {str(permission) for permission in Permission}
    missing = [key for key in _untranslated().findall(page.evaluate(_TEXTS)) if key not in names]
    assert not missing, f"{page.url} shows keys instead of words: {missing}"


def assert_fits_the_screen(page: Page) -> None:
    # A panel that still slides in is outside, and belongs there.
    page.evaluate(_MOVED)
    outside: list[str] = page.evaluate(_OUTSIDE)
    assert not outside, f"{page.url} is wider than the screen:\n" + "\n".join(outside[:10])
