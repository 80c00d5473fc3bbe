"""The axe rules for WCAG 2.2 A and AA, run in the page as it stands."""

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_SOURCE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# What another theme can break on a page that is right in one.
_RULES_OF_COLOUR = ["color-contrast", "link-in-text-block"]
_RUN = """
async ([type, values, scope]) => {
  const options = {runOnly: {type, values}, resultTypes: ['violations']};
  const {violations} = await axe.run(scope ?? document, options);
  return violations.map(({id, impact, help, nodes}) => ({
    id, impact, help, nodes: nodes.map(({target, failureSummary}) => [target.join(' '), failureSummary]),
  }));
}
"""


@cache
def _axe() -> str:
    return _SOURCE.read_text(encoding="utf-8")


def assert_accessible(page: Page, scope: str | None = None, *, only_colours: bool = False) -> None:
    """Fails with every rule that the page, or the part that this selector names, breaks."""
    # Through the debugger, not a script element: the content security policy stays as it is.
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(_axe())
    rules: list[Any] = ["rule", _RULES_OF_COLOUR] if only_colours else ["tag", _RULES]
    violations: list[dict[str, Any]] = page.evaluate(_RUN, [*rules, scope])
    lines = [
        f"{violation['id']} ({violation['impact']}): {violation['help']}\n"
        + "\n".join(f"    {target}\n      {summary}" for target, summary in violation["nodes"])
        for violation in violations
    ]
    assert not lines, f"{page.url} breaks accessibility rules:\n" + "\n".join(lines)
