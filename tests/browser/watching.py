"""What went wrong in a page without the test looking at it: script errors, failed requests, bad answers."""

import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page, Request, Response


@dataclass
class PageWatch:
    """Collects the troubles of the pages it follows; what a test provokes on purpose is allowed first."""

    troubles: list[str] = field(default_factory=list)
    _answers: list[tuple[int, re.Pattern[str]]] = field(default_factory=list)
    _messages: list[re.Pattern[str]] = field(default_factory=list)
    _offline: bool = False

    def follow(self, page: Page) -> None:
        page.on("console", self._on_console)
        page.on("pageerror", self._on_error)
        page.on("requestfailed", self._on_request_failed)
        page.on("response", self._on_response)

    def leave(self, page: Page) -> None:
        """Another test has it from now on."""
        page.remove_listener("console", self._on_console)
        page.remove_listener("pageerror", self._on_error)
        page.remove_listener("requestfailed", self._on_request_failed)
        page.remove_listener("response", self._on_response)

    def allow_answer(self, status: int, path: str) -> None:
        """The test provokes this status on paths that match this expression."""
        self._answers.append((status, re.compile(path)))

    def allow_message(self, text: str) -> None:
        """The test provokes console messages that match this expression."""
        self._messages.append(re.compile(text))

    def allow_offline(self) -> None:
        """The test takes the network away."""
        self._offline = True

    def _on_error(self, error: Error) -> None:
        self.troubles.append(f"script error: {error}")

    def _on_console(self, message: ConsoleMessage) -> None:
        # A bad answer is also logged by the browser, without its path; the answer itself is judged below.
        if message.type != "error" or message.text.startswith("Failed to load resource"):
            return
        if not any(pattern.search(message.text) for pattern in self._messages):
            self.troubles.append(f"console error: {message.text}")

    def _on_request_failed(self, request: Request) -> None:
        # Leaving a page ends its requests; that is no failure.
        if request.failure != "net::ERR_ABORTED" and not self._offline:
            self.troubles.append(f"request failed: {request.method} {request.url}: {request.failure}")

    def _on_response(self, response: Response) -> None:
        path = urlsplit(response.url).path
        if response.status < 400 or any(
            response.status == status and pattern.search(path) for status, pattern in self._answers
        ):
            return
        self.troubles.append(f"{response.status} for {response.request.method} {path}")
