"""People with tokens of a real Corral, who submit real work."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from corral_sdk import Client

from tests.live import LiveCorral

NOWHERE = {"HOME": "/nonexistent"}
PATIENCE_SECONDS = 60


@dataclass
class Person:
    """Talks to the API as one of the people, or as the administrator of the machine."""

    url: str
    id: str
    token: str

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        transport = Client(self.url, environ=NOWHERE)._transport
        sent = {"Authorization": f"Bearer {self.token}"} | headers
        answer = transport.request(method, f"/api/v1{path}", body=body, headers=sent)
        return answer.json() if answer.body else None

    def submit(self, name: str, command: list[str], *, gpus: int, **more: Any) -> str:
        resources = {"cpu_milli": 50, "memory_mib": 128, "gpu": {"count": gpus}}
        document = {"name": name, "command": command, "resources": resources} | more
        return str(self.call("POST", "/training", document)["id"])

    def look(self, workload_id: str) -> dict[str, Any]:
        found: dict[str, Any] = self.call("GET", f"/workloads/{workload_id}")
        return found

    def wait(self, workload_id: str, state: str, seconds: float = PATIENCE_SECONDS) -> dict[str, Any]:
        """Until the workload is in the state."""
        return wait_for(lambda: self.look(workload_id), lambda seen: seen["state"] == state, seconds)

    def output(self, workload_id: str, attempt: int) -> str:
        return str(self.call("GET", f"/workloads/{workload_id}/logs?attempt={attempt}")["text"])


def wait_for(look: Callable[[], Any], is_so: Callable[[Any], bool], seconds: float = PATIENCE_SECONDS) -> Any:
    deadline = time.monotonic() + seconds
    while not is_so(seen := look()):
        assert time.monotonic() < deadline, f"not so after {seconds} s: {seen}"
        time.sleep(0.1)
    return seen


def administrator(corral: LiveCorral) -> Person:
    me = Person(corral.url, "", corral.local_token)
    me.id = me.call("GET", "/me")["id"]
    return me


def new_person(admin: Person, name: str) -> Person:
    """Made the way a person would: with the login link, a password and a token."""
    root = admin.call("GET", "/organisations")["items"][0]["id"]
    roles = admin.call("GET", "/roles")["items"]
    role = next(one["id"] for one in roles if one["key"] == "user")
    new = {"name": name, "display_name": name.title(), "organisation_id": root, "role_id": role}
    made = admin.call("POST", "/users", new)
    transport = Client(admin.url, environ=NOWHERE)._transport
    secret = {"secret": made["login_link"]["secret"]}
    answer = transport.request("POST", "/api/v1/session/link", body=secret)
    headers = {
        "Cookie": answer.headers["set-cookie"].partition(";")[0],
        "X-CSRF-Token": answer.json()["csrf_token"],
    }
    password = {"new_password": "quiet-harbour-lantern-42"}
    transport.request("POST", "/api/v1/me/password", body=password, headers=headers)
    token = transport.request("POST", "/api/v1/me/tokens", body={"name": "tests"}, headers=headers).json()
    return Person(admin.url, made["user"]["id"], token["secret"])


def guarantee(admin: Person, person: Person, gpus: int) -> None:
    root = admin.call("GET", "/organisations")["items"][0]["id"]
    queue = admin.call("POST", "/queues", {"organisation_id": root, "user_id": person.id})
    pool = wait_for(lambda: admin.call("GET", "/pools")["items"], bool)[0]["id"]
    quota = {"pool_id": pool, "resource": "gpu_milli", "guarantee": gpus * 1000}
    admin.call("PATCH", f"/queues/{queue['id']}", {"quotas": [quota]}, **{"If-Match": "*"})
