"""What the stories of the console begin with: organisations, people and roles, made over the API."""

import json
import urllib.request
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.live import LiveCorral

PASSWORD = "quiet-harbour-lantern-42"


@dataclass(frozen=True)
class Person:
    id: str
    name: str
    display_name: str
    link_secret: str


@dataclass(frozen=True)
class Story:
    """Sets the scene with the token of the machine, which may do everything."""

    corral: LiveCorral

    def call(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(
            f"{self.corral.url.rstrip('/')}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.corral.local_token}",
                "Content-Type": "application/json",
                "If-Match": "*",
            },
        )
        with urllib.request.urlopen(request, timeout=20) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def root(self) -> str:
        return str(self.call("GET", "/organisations")["items"][0]["id"])

    def organisation(self, name: str, parent: str | None = None) -> str:
        made = self.call("POST", "/organisations", {"name": name, "parent_id": parent or self.root()})
        return str(made["id"])

    def role(self, key: str) -> str:
        """The id of a preset by its key, or of a custom role by its name."""
        roles = self.call("GET", "/roles")["items"]
        return str(next(one["id"] for one in roles if key in {one["key"], one["name"]}))

    def person(
        self, name: str, display_name: str, *, organisation: str | None = None, role: str = "user"
    ) -> Person:
        made = self.call(
            "POST",
            "/users",
            {
                "name": name,
                "display_name": display_name,
                "mail": f"{name}@example.org",
                "organisation_id": organisation or self.root(),
                "role_id": self.role(role),
            },
        )
        return Person(made["user"]["id"], name, display_name, made["login_link"]["secret"])


def enter(page: Page, person: Person) -> None:
    """Signs the page's browser in as the person, by the login link; the forms have tests of their own."""
    answer = page.request.post("/api/v1/session/link", data={"secret": person.link_secret})
    assert answer.ok, f"login link: {answer.status} {answer.text()}"
    answer = page.request.post(
        "/api/v1/me/password",
        data={"new_password": PASSWORD},
        headers={"X-CSRF-Token": answer.json()["csrf_token"]},
    )
    assert answer.ok, f"first password: {answer.status} {answer.text()}"


def choose(page: Page, field: str, option: str) -> None:
    """Chooses an option of a list by what stands there."""
    page.get_by_role("combobox", name=field, exact=True).last.click()
    offered = page.locator(".ant-select-dropdown:visible .ant-select-item-option")
    offered.get_by_text(option, exact=True).click()


def expect_no_sideways_scroll(page: Page) -> None:
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"{page.url} is {wide} px wider than the screen"


def row(page: Page, text: str) -> Locator:
    """The lines of a table in which the text stands."""
    return page.locator("tr.ant-table-row", has_text=text)


def open_panel(page: Page, name: str) -> Locator:
    """The drawer of this name, once it is there."""
    panel = page.get_by_role("complementary", name=name, exact=True)
    expect(panel).to_be_visible()
    return panel
