"""The axe rules for WCAG 2.2 A and AA, run in the page as it stands."""

from functools import cache
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_SOURCE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_RUN = """
async ([rules, scope]) => {
  const {violations} = await axe.run(scope ?? document, {runOnly: rules, resultTypes: ['violations']});
  return violations.map(({id, impact, help, nodes}) => ({
    id, impact, help, nodes: nodes.map(({target, failureSummary}) => [target.join(' '), failureSummary]),
  }));
}
"""


@cache
def _axe() -> str:
    return _SOURCE.read_text(encoding="utf-8")


def assert_accessible(page: Page, scope: str | None = None) -> None:
    """Fails with every rule that the page, or the part that this selector names, breaks."""
    # Through the debugger, not a script element: the content security policy stays as it is.
    page.evaluate(_axe())
    violations: list[dict[str, Any]] = page.evaluate(_RUN, [_RULES, scope])
    lines = [
        f"{violation['id']} ({violation['impact']}): {violation['help']}\n"
        + "\n".join(f"    {target}\n      {summary}" for target, summary in violation["nodes"])
        for violation in violations
    ]
    assert not lines, f"{page.url} breaks accessibility rules:\n" + "\n".join(lines)
