"""Answers that stay on their way, so that what comes between request and answer comes for certain."""

from dataclasses import dataclass, field

from playwright.sync_api import APIResponse, Page, Route


@dataclass
class HeldAnswers:
    """The server has acted; the page hears of it when they are let go."""

    method: str
    _waiting: list[tuple[Route, APIResponse]] = field(default_factory=list)
    _holding: bool = True

    def let_go(self) -> None:
        """These, and all that come later."""
        assert self._waiting, f"There was no {self.method} request to hold."
        self._holding = False
        for route, answer in self._waiting:
            route.fulfill(response=answer)

    def take(self, route: Route) -> None:
        if self._holding and route.request.method == self.method:
            self._waiting.append((route, route.fetch()))
        else:
            route.fallback()


def hold_answers(page: Page, method: str, path: str) -> HeldAnswers:
    """From now on the page waits for answers to this request until they are let go."""
    held = HeldAnswers(method)
    page.route(lambda url: url.endswith(path), held.take)
    return held
