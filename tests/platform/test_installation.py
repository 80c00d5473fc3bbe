"""Signing up, the first day's checklist, and what the installation tells of itself."""

from sqlalchemy import update

from corral import __version__
from corral.identity.tables import password
from corral.store.database import Transaction
from tests.campus import PASSWORD, Campus, made, refused
from tests.platform.smtp import mail_server

WISH = {
    "name": "mei",
    "display_name": "Mei-Ling Chen",
    "mail": "mei@example.org",
    "password": PASSWORD,
}


async def allow_sign_up(campus: Campus, organisation: str) -> None:
    on = {"sign_up": True, "organisation_id": organisation}
    made(await campus.admin.put("/settings/registration", on, match="*"))


async def test_login_page_learns_what_it_offers(campus: Campus) -> None:
    visitor = campus.visitor()
    options = made(await visitor.get("/login-options"))
    assert options == {
        "organisation_name": "Corral",
        "version": __version__,
        "providers": [{"key": "local", "kind": "form"}],
        "sign_up": False,
    }
    await allow_sign_up(campus, campus.root)
    assert made(await visitor.get("/login-options"))["sign_up"] is True


async def test_signing_up_is_off_until_turned_on(campus: Campus) -> None:
    refused(await campus.visitor().post("/sign-up", WISH), 403, "forbidden")
    settings = await campus.admin.get("/settings/registration")
    assert made(settings) == {"sign_up": False, "organisation_id": campus.root, "generation": 0}


async def test_who_signs_up_waits_for_approval_and_then_belongs(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await allow_sign_up(campus, lab)
    visitor = campus.visitor()
    answer = await visitor.post("/sign-up", WISH)
    assert (answer.status_code, answer.json()) == (202, {"state": "pending"})
    refused(await visitor.sign_in("mei", PASSWORD), 403, "forbidden")
    refused(await visitor.post("/sign-up", WISH), 409, "conflict", "body.name")
    (waiting,) = made(await campus.admin.get("/users", params={"state": "pending"}))["items"]
    assert [one["id"] for one in waiting["organisations"]] == [lab]
    approve = {"state": "active"}
    made(await campus.admin.patch(f"/users/{waiting['id']}", approve, match='"1"'))
    client = await campus.sign_in("mei")
    assert [one["name"] for one in made(await client.get("/organisations"))["items"]] == ["Vision Lab"]
    made(
        await campus.admin.put(
            "/settings/registration", {"sign_up": False, "organisation_id": lab}, match="*"
        )
    )
    refused(await visitor.post("/sign-up", {**WISH, "name": "ann"}), 403, "forbidden")


async def test_sign_up_says_what_is_wrong_with_it(campus: Campus) -> None:
    await allow_sign_up(campus, campus.root)
    visitor = campus.visitor()
    for field, change in {
        "body.password": {"password": "short"},
        "body.name": {"name": "Not Good"},
        "body.mail": {"mail": "nowhere"},
        "body.display_name": {"display_name": " "},
        "body.role": {"role": "admin"},
    }.items():
        refused(await visitor.post("/sign-up", {**WISH, **change}), 422, "invalid", field)
    new = {"sign_up": True, "organisation_id": "o" + "0" * 22}
    refused(await campus.admin.put("/settings/registration", new, match="*"), 404, "not-found")


async def test_signing_up_ends_with_the_organisation_it_was_for(campus: Campus) -> None:
    lab = await campus.organisation("Vision Lab")
    await allow_sign_up(campus, lab)
    made(await campus.admin.delete(f"/organisations/{lab}", match="*"))
    assert made(await campus.visitor().get("/login-options"))["sign_up"] is False
    refused(await campus.visitor().post("/sign-up", WISH), 403, "forbidden")
    settings = made(await campus.admin.get("/settings/registration"))
    assert (settings["sign_up"], settings["organisation_id"]) == (False, campus.root)
    await allow_sign_up(campus, campus.root)


async def test_checklist_is_done_item_by_item(campus: Campus) -> None:
    async def done() -> list[str]:
        answer = made(await campus.admin.get("/checklist"))
        assert answer["total"] == 5
        assert answer["done"] == sum(item["done"] for item in answer["items"])
        return [item["key"] for item in answer["items"] if item["done"]]

    assert await done() == ["password"]
    made(await campus.admin.patch(f"/organisations/{campus.root}", {"name": "Example"}, match="*"))
    assert await done() == ["password", "organisation"]
    offer = {"organisation_id": campus.root, "role_id": campus.presets["user"]}
    invitation = made(await campus.admin.post("/invitations", offer))["invitation"]
    assert await done() == ["password", "organisation", "people"]
    made(await campus.admin.delete(f"/invitations/{invitation['id']}"))
    assert await done() == ["password", "organisation"]
    lab = await campus.organisation("Vision Lab")
    await campus.person("lead", lab, "super_administrator")  # of the lab alone
    assert await done() == ["password", "organisation", "people"]
    await campus.person("second", role="super_administrator")
    assert await done() == ["password", "organisation", "people", "second_administrator"]
    async with mail_server() as server:
        mail = {"host": "localhost", "port": server.port, "encryption": "none", "sender": "c@example.org"}
        made(await campus.admin.put("/settings/mail", mail, match="*"))
        assert "mail" not in await done()
        made(await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"}))
    assert len(await done()) == 5


async def test_checklist_knows_the_first_password(campus: Campus) -> None:
    program = await campus.token(campus.admin)

    def first(transaction: Transaction) -> None:
        transaction.run(update(password).values(must_change=True))

    await campus.database.write(first)
    items = made(await program.get("/checklist"))["items"]
    assert items[0] == {"key": "password", "done": False, "count": None}


async def test_system_tells_version_database_and_machine(campus: Campus, database_kind: str) -> None:
    system = made(await campus.admin.get("/system"))
    assert system["version"] == __version__
    assert system["database"] == database_kind
    machine = system["machine"]
    assert machine["cpu_count"] >= 1
    assert machine["memory_mib"] > 100
    assert machine["gpus_simulated"] is (machine["gpus"] == [])
    await campus.person("mei")
    refused(await (await campus.sign_in("mei")).get("/system"), 403, "forbidden")
