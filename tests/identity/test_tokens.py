"""Personal access tokens: shown once, limited by scopes and time, gone at once when revoked."""

from datetime import timedelta

from sqlalchemy import select

from corral.api.parts import part
from corral.identity.context import Identity
from corral.identity.tables import token
from corral.store.database import Transaction
from tests.campus import ADMINISTRATOR, PASSWORD, Campus, made, refused


async def test_secret_is_shown_once_and_stored_as_a_hash(campus: Campus) -> None:
    created = made(await campus.admin.post("/me/tokens", {"name": "laptop"}))
    secret = created["secret"]
    assert secret.startswith(f"corral_{created['token']['id']}_")
    assert created["token"]["scopes"] == ["*"]
    shown = (await campus.admin.get("/me/tokens")).text + str(await campus.audit(action="token.create"))
    kept = secret.split("_", 2)[2][-20:]
    assert kept not in shown

    def stored(transaction: Transaction) -> str:
        return str(transaction.rows(select(token)))

    assert kept not in await campus.database.read(stored)
    session = made(await campus.bearer(secret).get("/session"))
    assert (session["via"], session["csrf_token"], session["user"]["name"]) == ("token", None, "admin")
    assert session["expires_at"] == created["token"]["expires_at"]


async def test_scopes_limit_what_the_owner_may(campus: Campus) -> None:
    program = await campus.token(campus.admin, "people.read", "organisations.read", "account.read")
    made(await program.get("/users"))
    refused(await program.get("/roles"), 403, "forbidden")
    new = {"parent_id": campus.root, "name": "Lab"}
    refused(await program.post("/organisations", new), 403, "forbidden")
    permissions = made(await program.get("/session"))["permissions"]
    assert permissions == [
        {"organisation_id": campus.root, "permissions": ["organisations.read", "people.read"], "ends": {}}
    ]


async def test_scopes_give_nothing_the_owner_lacks(campus: Campus) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    program = await campus.token(client, "people.read", "organisations.read")
    refused(await program.get("/users"), 403, "forbidden")
    made(await program.get("/organisations"))


async def test_a_limited_token_cannot_change_the_account_it_belongs_to(campus: Campus) -> None:
    me = made(await campus.admin.get("/me"))["id"]
    scopes = ("people.manage", "people.read", "organisations.read", "account.read")
    program = await campus.token(campus.admin, *scopes)
    made(await program.get("/me"))
    made(await program.get("/me/tokens"))
    password = {"current_password": PASSWORD, "new_password": "another-quiet-river"}
    for answer in (
        await program.post("/me/tokens", {"name": "more"}),
        await program.patch("/me", {"display_name": "Me"}, match="*"),
        await program.post("/me/password", password),
        await program.post("/me/sessions/revoke-others"),
        await program.post("/me/join", {"code": "BBBBB-BBBBB"}),
        await program.delete("/me/tokens/t" + "0" * 22),
        # Nor by the way that administrators have.
        await program.post(f"/users/{me}/login-link"),
        await program.patch(f"/users/{me}", {"display_name": "Me"}, match="*"),
    ):
        refused(answer, 403, "forbidden")
    whole = await campus.token(campus.admin, name="whole")
    made(await whole.post("/me/tokens", {"name": "more"}))


async def test_tokens_end_by_time(campus: Campus) -> None:
    def at(**amount: float) -> str:
        return (campus.clock() + timedelta(**amount)).isoformat()

    created = made(await campus.admin.post("/me/tokens", {"name": "short", "expires_at": at(hours=1)}))
    default = made(await campus.admin.post("/me/tokens", {"name": "default"}))
    for name, expires_at in (("past", at(seconds=-1)), ("long", at(days=366)), ("odd", "2030-01-01")):
        answer = await campus.admin.post("/me/tokens", {"name": name, "expires_at": expires_at})
        refused(answer, 422, "invalid", "body.expires_at")
    made(await campus.admin.post("/me/tokens", {"name": "year", "expires_at": at(days=364)}))
    program, other = campus.bearer(created["secret"]), campus.bearer(default["secret"])
    made(await program.get("/me"))
    campus.clock.advance(hours=1, seconds=1)
    refused(await program.get("/me"), 401, "unauthenticated")
    campus.clock.advance(days=89)
    made(await other.get("/me"))
    campus.clock.advance(days=1)
    refused(await other.get("/me"), 401, "unauthenticated")


async def test_revoking_is_at_once_and_ones_own(campus: Campus) -> None:
    await campus.person("mei")
    mei = await campus.sign_in("mei")
    created = made(await mei.post("/me/tokens", {"name": "laptop"}))
    program = campus.bearer(created["secret"])
    path = f"/me/tokens/{created['token']['id']}"
    refused(await campus.admin.delete(path), 404, "not-found")
    made(await program.get("/me"))
    made(await mei.delete(path))
    refused(await program.get("/me"), 401, "unauthenticated")
    refused(await mei.delete(path), 404, "not-found")
    assert made(await mei.get("/me/tokens"))["items"] == []


async def test_last_use_is_written_down(campus: Campus) -> None:
    program = await campus.token(campus.admin)
    assert made(await campus.admin.get("/me/tokens"))["items"][0]["last_used_at"] is None
    made(await program.get("/me"))
    access = part(campus.app, Identity).access
    await access.seen.flush(campus.database)
    assert made(await campus.admin.get("/me/tokens"))["items"][0]["last_used_at"] is not None


async def test_names_are_ones_own_and_scopes_are_known(campus: Campus) -> None:
    made(await campus.admin.post("/me/tokens", {"name": "laptop"}))
    refused(await campus.admin.post("/me/tokens", {"name": " laptop "}), 409, "conflict", "body.name")
    await campus.person("mei")
    made(await (await campus.sign_in("mei")).post("/me/tokens", {"name": "laptop"}))
    for scopes in ([], ["everything"], "*"):
        answer = await campus.admin.post("/me/tokens", {"name": "other", "scopes": scopes})
        refused(answer, 422, "invalid")
    doubled = {"name": "other", "scopes": ["people.read", "people.read"]}
    assert made(await campus.admin.post("/me/tokens", doubled))["token"]["scopes"] == ["people.read"]


async def test_a_token_loses_what_its_owner_loses(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    lead = await campus.person("lead", lab, ADMINISTRATOR)
    program = await campus.token(await campus.sign_in("lead"))
    made(await program.get("/users"))
    made(await campus.admin.delete(f"/users/{lead}/memberships/{lab}"))
    refused(await program.get("/users"), 403, "forbidden")
