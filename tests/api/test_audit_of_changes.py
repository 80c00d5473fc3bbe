"""Every route that changes something leaves an entry in the audit log, with the request's id."""

from datetime import UTC, datetime
from typing import Any

import httpx2
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from sqlalchemy import insert

from corral.api.parts import provide
from corral.apps.context import AppContext
from corral.gateway.names import AppNames
from corral.hosts.tables import host
from tests.apps import PREFIX, ApiClient
from tests.campus import PASSWORD, Campus, made
from tests.description import api_description
from tests.engines.archives import tars
from tests.platform.smtp import mail_server
from tests.zones.machines import machine, see

# Looking at what one holds, or asking what would be, changes nothing; it is a POST because of what is sent.
PREVIEWS = {
    ("POST", "/invitations/preview"),
    ("POST", "/join/preview"),
    ("POST", "/training/preview"),
    ("POST", "/training/probe"),
}


def changing_routes() -> set[tuple[str, str]]:
    paths: dict[str, dict[str, Any]] = api_description()["paths"]
    return {
        (method.upper(), path.removeprefix(PREFIX))
        for path, operations in paths.items()
        for method in operations
        if method in {"post", "put", "patch", "delete"}
    } - PREVIEWS


class Recorder:
    """Sends requests and remembers which route each of them was, and what the log says of it."""

    def __init__(self, campus: Campus) -> None:
        self.campus = campus
        self.done: set[tuple[str, str]] = set()

    async def do(
        self,
        action: str,
        method: str,
        route: str,
        body: Any = None,
        /,
        *,
        by: ApiClient | None = None,
        **ids: str,
    ) -> Any:
        headers = {"If-Match": "*"} if method in {"PATCH", "PUT", "DELETE"} else {}
        options: dict[str, Any] = {} if body is None else {"json": body}
        if isinstance(body, bytes):
            options = {"content": body}
            headers["Content-Type"] = "application/x-tar"
        client = by or self.campus.admin
        answer = await client.request(method, route.format(**ids), headers=headers, **options)
        content = made(answer)
        await self._expect(action, answer)
        self.done.add((method, route))
        return content

    async def _expect(self, action: str, answer: httpx2.Response) -> None:
        request_id = answer.headers["x-request-id"]
        entries = [one for one in await self.campus.audit(limit="10") if one["request_id"] == request_id]
        assert action in [one["action"] for one in entries], (action, entries)
        for entry in entries:
            assert entry["result"] == "done"
            assert entry["address"].startswith("192.0.2.")


async def ground_changes(recorder: Recorder, user_id: str) -> None:
    """Everything that changes pools, nodes, queues and flavors."""
    do, campus = recorder.do, recorder.campus
    zone = await campus.database.write(see, machine())
    pool = await do("pool.create", "POST", "/pools", {"zone_id": zone, "name": "a", "labels": {"x": "1"}})
    await do("pool.change", "PATCH", "/pools/{pool_id}", {"reservations": 1}, pool_id=pool["id"])
    await do("pool.delete", "DELETE", "/pools/{pool_id}", pool_id=pool["id"])
    lab = await do("zone.create", "POST", "/zones", {"name": "lab", "nodes": "1x1xL4-24GB"})
    await do("zone.delete", "DELETE", "/zones/{zone_id}", zone_id=lab["id"])
    (node,) = made(await campus.admin.get("/nodes"))["items"]
    await do("node.cordon", "PATCH", "/nodes/{node_id}", {"cordoned": True}, node_id=node["id"])

    new = {"organisation_id": campus.root, "user_id": user_id}
    queue = (await do("queue.create", "POST", "/queues", new))["id"]
    await do("queue.change", "PATCH", "/queues/{queue_id}", {"priority": 2}, queue_id=queue)
    several = {"changes": [{"queue_id": queue, "priority": 3}]}
    await do("queue.change", "POST", "/queues/changes", several)

    body = {"name": "x", "cpu_milli": 1, "memory_mib": 1, "organisation_ids": [campus.root]}
    flavor = (await do("flavor.create", "POST", "/flavors", body))["id"]
    await do("flavor.change", "PATCH", "/flavors/{flavor_id}", {"enabled": False}, flavor_id=flavor)
    await do("flavor.delete", "DELETE", "/flavors/{flavor_id}", flavor_id=flavor)


async def test_every_change_is_in_the_audit_log(campus: Campus) -> None:
    recorder = Recorder(campus)
    do, root, user_role = recorder.do, campus.root, campus.presets["user"]
    offer = {"organisation_id": root, "role_id": user_role}
    person = {"display_name": "Someone", "password": PASSWORD}

    body = {"parent_id": root, "name": "Lab"}
    lab = (await do("organisation.create", "POST", "/organisations", body))["id"]
    one = "/organisations/{id}"
    await do("organisation.change", "PATCH", one, {"name": "Vision Lab"}, id=lab)
    await do("organisation.delete", "DELETE", one, id=lab)

    role_body = {"organisation_id": root, "name": "Tutor", "permissions": ["people.read"]}
    role = (await do("role.create", "POST", "/roles", role_body))["id"]
    await do("role.change", "PATCH", "/roles/{role_id}", {"name": "Coach"}, role_id=role)

    new = {"name": "mei", "display_name": "Mei", **offer}
    created = await do("user.create", "POST", "/users", new)
    mei = created["user"]["id"]
    await do("user.change", "PATCH", "/users/{user_id}", {"priority": 3}, user_id=mei)
    await do("user.create", "POST", "/users/import", {**offer, "csv": "name\nlin\n"})
    granted = {"role_id": role, "organisation_id": root}
    after = await do("grant.create", "POST", "/users/{user_id}/grants", granted, user_id=mei)
    grant = next(one["grant_id"] for one in after["roles"] if one["role_id"] == role)
    await do("grant.delete", "DELETE", "/users/{user_id}/grants/{grant_id}", user_id=mei, grant_id=grant)
    await do("role.delete", "DELETE", "/roles/{role_id}", role_id=role)
    other = await campus.organisation("Other")
    membership = "/users/{user_id}/memberships/{organisation_id}"
    await do("membership.create", "PUT", membership, user_id=mei, organisation_id=other)
    await do("membership.delete", "DELETE", membership, user_id=mei, organisation_id=other)

    await ground_changes(recorder, mei)

    link = await do("login_link.create", "POST", "/users/{user_id}/login-link", user_id=mei)
    visitor = campus.visitor()
    session = await do("session.create", "POST", "/session/link", {"secret": link["secret"]}, by=visitor)
    visitor.csrf_token = session["csrf_token"]
    await do("password.change", "POST", "/me/password", {"new_password": PASSWORD}, by=visitor)
    await campus.sign_in("mei")
    await do("session.revoke", "POST", "/users/{user_id}/sessions/revoke", user_id=mei)

    again = campus.visitor()
    sign_in = {"name": "mei", "password": PASSWORD}
    again.csrf_token = (await do("session.create", "POST", "/session", sign_in, by=again))["csrf_token"]
    await do("user.change", "PATCH", "/me", {"display_name": "Mei-Ling"}, by=again)
    await campus.sign_in("mei")
    await do("session.revoke", "POST", "/me/sessions/revoke-others", by=again)
    await campus.sign_in("mei")
    sessions = made(await again.get("/me/sessions"))["items"]
    ended = next(one["id"] for one in sessions if not one["current"])
    await do("session.revoke", "DELETE", "/me/sessions/{session_id}", by=again, session_id=ended)
    token = (await do("token.create", "POST", "/me/tokens", {"name": "t"}, by=again))["token"]["id"]
    await do("token.revoke", "DELETE", "/me/tokens/{token_id}", by=again, token_id=token)
    public = Ed25519PrivateKey.generate().public_key()
    line = public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    key_body = {"title": "Laptop", "public_key": line}
    key = (await do("ssh_key.create", "POST", "/me/ssh-keys", key_body, by=again))["id"]
    await do("ssh_key.delete", "DELETE", "/me/ssh-keys/{ssh_key_id}", by=again, ssh_key_id=key)

    secret = (await do("invitation.create", "POST", "/invitations", offer))["secret"]
    accepted = {"secret": secret, "name": "ann", **person}
    await do("user.create", "POST", "/invitations/accept", accepted, by=campus.visitor())
    people = made(await campus.admin.get("/users"))["items"]
    (ann,) = [one["id"] for one in people if one["name"] == "ann"]
    await do("user.delete", "DELETE", "/users/{user_id}", user_id=ann)
    withdrawn = made(await campus.admin.post("/invitations", offer))["invitation"]["id"]
    await do("invitation.delete", "DELETE", "/invitations/{invitation_id}", invitation_id=withdrawn)
    in_other = {"organisation_id": other, "role_id": user_role, "seats": 5}
    code = await do("join_code.create", "POST", "/join-codes", in_other)
    joined = {"code": code["code"], "name": "bob", **person}
    await do("user.create", "POST", "/join", joined, by=campus.visitor())
    await do("membership.create", "POST", "/me/join", {"code": code["code"]}, by=again)
    await do("join_code.delete", "DELETE", "/join-codes/{join_code_id}", join_code_id=code["id"])
    await do("session.end", "DELETE", "/session", by=again)

    sign_up = {"sign_up": True, "organisation_id": root}
    await do("setting.change", "PUT", "/settings/registration", sign_up)
    wish = {"name": "eve", "mail": "eve@example.org", **person}
    await do("user.create", "POST", "/sign-up", wish, by=campus.visitor())
    async with mail_server() as server:
        mail = {"host": "localhost", "port": server.port, "encryption": "none", "sender": "c@example.org"}
        await do("setting.change", "PUT", "/settings/mail", mail)
        await do("mail.test", "POST", "/settings/mail/test", {"to": "mei@example.org"})

    upload = (await do("upload.create", "POST", "/uploads", tars.tar_of(tars.entry("train.py"))))["id"]
    await do("upload.delete", "DELETE", "/uploads/{upload_id}", upload_id=upload)
    await do("secret.create", "PUT", "/me/secrets/{name}", {"value": "v"}, name="key")
    await do("secret.delete", "DELETE", "/me/secrets/{name}", name="key")

    new = {"name": "own", "requirements": ["numpy"], "build": False}
    runtime = (await do("runtime.create", "POST", "/runtimes", new))["id"]
    await do("runtime.build", "POST", "/runtimes/{runtime_id}/build", runtime_id=runtime)
    other_runtime = made(await campus.admin.post("/runtimes", new))["id"]
    await do("runtime.delete", "DELETE", "/runtimes/{runtime_id}", runtime_id=other_runtime)

    resources = {"cpu_milli": 1000, "memory_mib": 1024}
    work = {"name": "fit", "command": ["true"], "resources": resources, "organisation_id": root}
    workload = (await do("workload.create", "POST", "/training", work))["id"]
    provide(campus.app, AppContext(AppNames("https", "apps.test")))
    tickets = "/workloads/{workload_id}/tickets"
    await do("workload.open", "POST", tickets, {"port": 8000}, workload_id=workload)
    await do("workload.stop", "POST", "/workloads/actions", {"action": "stop", "ids": [workload]})
    act = "/workloads/{workload_id}/{action}"
    await do("workload.resume", "POST", act, workload_id=workload, action="resume")

    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    silent = insert(host).values(
        id="0f", name="box", url="http://127.0.0.1:1", version="0", started_at=long_ago, seen_at=long_ago
    )
    await campus.database.write(lambda transaction: transaction.run(silent))
    await do("host.delete", "DELETE", "/hosts/{host_id}", host_id="0f")

    renamed = {(method, one.replace("{id}", "{organisation_id}")) for method, one in recorder.done}
    assert renamed == changing_routes()
