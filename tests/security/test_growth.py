"""Nobody grows a table without end: what one person can add is bounded, and the refusal says so."""

from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from corral.api import once
from corral.core.bounds import PersonBounds
from tests.campus import PASSWORD, Campus, made, refused


async def test_sessions_of_one_person_are_bounded_and_the_unused_end_first(campus: Campus) -> None:
    campus.database.bounds = PersonBounds(sessions=3)
    await campus.person("mei")
    clients = []
    for _ in range(4):
        clients.append(await campus.sign_in("mei"))
        campus.clock.advance(minutes=1)
    refused(await clients[0].get("/session"), 401, "unauthenticated")
    assert len(made(await clients[-1].get("/me/sessions"))["items"]) == 3


async def test_open_invitations_and_codes_of_one_person_are_bounded(campus: Campus) -> None:
    campus.database.bounds = PersonBounds(open_invitations=2)
    offer = {"organisation_id": campus.root, "role_id": campus.presets["user"]}
    for path, body in (("/invitations", offer), ("/join-codes", {**offer, "seats": 1})):
        for _ in range(2):
            made(await campus.admin.post(path, body))
        assert "open" in refused(await campus.admin.post(path, body), 409, "conflict")["detail"]
        for one in made(await campus.admin.get(path))["items"]:
            made(await campus.admin.delete(f"{path}/{one['id']}"))


async def test_answers_kept_for_one_person_are_bounded(campus: Campus) -> None:
    campus.database.bounds = PersonBounds(kept_answers=2)

    program = await campus.token(campus.admin, name="program")

    async def create(name: str) -> Any:
        return await program.post("/me/tokens", {"name": name}, headers={"Idempotency-Key": name})

    made(await create("one"))
    made(await create("two"))
    refused(await create("three"), 429)
    made(await create("two"))  # a repeated one is the same one
    campus.clock.advance(hours=25)
    await campus.database.write(once.forget_old_answers, 100)
    made(await create("three"))


async def test_work_of_one_person_is_bounded(campus: Campus) -> None:
    campus.database.bounds = PersonBounds(workloads=0)
    work = {"name": "one", "command": ["true"], "resources": {"cpu_milli": 100, "memory_mib": 64}}
    answer = await campus.admin.post("/training", work)
    assert "workloads" in refused(answer, 409, "conflict")["detail"]


async def test_changes_of_one_person_are_bounded_by_the_hour(campus: Campus) -> None:
    campus.database.bounds = PersonBounds(changes_per_hour=2)
    await campus.person("mei")
    mei = await campus.sign_in("mei")
    for name in ("Mei", "Mei-Ling"):
        made(await mei.patch("/me", {"display_name": name}, match="*"))
    refused(await mei.patch("/me", {"display_name": "Chen"}, match="*"), 429)
    made(await mei.get("/me"))
    await campus.person("ann")
    ann = await campus.sign_in("ann", PASSWORD)
    made(await ann.patch("/me", {"display_name": "Ann"}, match="*"))
    campus.clock.advance(hours=1)
    made(await mei.patch("/me", {"display_name": "Chen"}, match="*"))


async def test_tokens_keys_secrets_and_runtimes_of_one_person_are_bounded(campus: Campus) -> None:
    campus.database.bounds = PersonBounds(tokens=1, ssh_keys=1, secrets=1, runtimes=1)
    await campus.person("mei")
    mei = await campus.sign_in("mei")

    def key() -> str:
        public = ed25519.Ed25519PrivateKey.generate().public_key()
        return public.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()

    for path, body in (
        ("/me/tokens", lambda name: {"name": name}),
        ("/me/ssh-keys", lambda name: {"title": name, "public_key": key()}),
        ("/runtimes", lambda name: {"name": name, "requirements": ["numpy"]}),
    ):
        made(await mei.post(path, body("one")))
        assert "already have 1 " in refused(await mei.post(path, body("two")), 409, "conflict")["detail"]
    made(await mei.put("/me/secrets/one", {"value": "some value"}))
    answer = await mei.put("/me/secrets/two", {"value": "some value"})
    assert "already have 1 secrets" in refused(answer, 409, "conflict")["detail"]
