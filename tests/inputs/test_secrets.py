"""Secrets: sealed, given to their owner's work only, never shown, masked in what work prints."""

import base64
import json
import secrets as randomness
from typing import Any

from sqlalchemy import select

from corral.api.parts import part
from corral.inputs.context import Inputs
from corral.inputs.secrets import SecretBox, forget_withdrawn
from corral.inputs.tables import secret
from corral.store.database import Transaction
from corral.store.keyring import Keyring
from tests.apps import ApiClient
from tests.campus import Campus, made, refused
from tests.control.ground import Ground

VALUE = "s3cr3t-of-the-lab"


async def put(client: ApiClient, name: str, value: str = VALUE) -> Any:
    return made(await client.put(f"/me/secrets/{name}", {"value": value}))


def rows(transaction: Transaction) -> Any:
    return transaction.rows(select(secret).order_by(secret.c.id))


async def test_value_is_nowhere_to_be_read(campus: Campus) -> None:
    answer = await campus.admin.put("/me/secrets/api-key", {"value": VALUE})
    assert set(made(answer)) == {"name", "created_at", "changed_at"}
    assert VALUE not in (await campus.admin.get("/me/secrets")).text
    (row,) = await campus.database.read(rows)
    assert VALUE not in repr(row)
    (entry,) = await campus.audit(action="secret.create")
    assert entry["after"] == {"name": "api-key"}
    assert VALUE not in json.dumps(entry)
    await put(campus.admin, "api-key", "another")
    assert len(await campus.audit(action="secret.change")) == 1


async def test_secrets_are_their_owners_own(campus: Campus) -> None:
    await put(campus.admin, "key")
    await campus.person("ana")
    ana = await campus.sign_in("ana")
    assert made(await ana.get("/me/secrets"))["items"] == []
    refused(await ana.delete("/me/secrets/key"), 404)
    work = {"name": "x", "command": ["true"], "resources": {"cpu_milli": 1, "memory_mib": 1}}
    answer = await ana.post("/training", work | {"secrets": {"API_KEY": "key"}})
    problem = refused(answer, 422, "invalid", "body.secrets.API_KEY")
    assert "corral secret create key" in problem["remedy"]
    scoped = await campus.token(campus.admin, "workloads.run")
    refused(await scoped.put("/me/secrets/key", {"value": "mine now"}), 403)


async def test_bad_names_and_values_are_refused(campus: Campus) -> None:
    for name in ("-x", "a b", "x" * 101, "a$b"):
        refused(await campus.admin.put(f"/me/secrets/{name}", {"value": "v"}), 422)
    for value in ("", "a\x00b", "x" * 40000):
        problem = refused(await campus.admin.put("/me/secrets/x", {"value": value}), 422)
        assert value[:10] not in json.dumps(problem) or not value


async def test_work_is_given_the_value_and_nothing_else_knows_it(ground: Ground) -> None:
    admin = ground.campus.admin
    await put(admin, "key")
    work = await ground.submit(admin, "w", secrets={"API_KEY": "key"})
    await ground.settle()
    (task,) = [start.task for start in ground.started]
    assert task is not None
    assert dict(task.secrets) == {"API_KEY": VALUE}
    assert VALUE not in repr(task)
    assert VALUE not in json.dumps([*task.command, *task.environment.values()])
    assert VALUE not in json.dumps(await ground.get(work))


async def test_output_is_masked_also_after_the_secret_was_changed_or_deleted(ground: Ground) -> None:
    admin, database = ground.campus.admin, ground.campus.database
    box = part(ground.campus.app, Inputs).secrets
    key_file = "-----BEGIN KEY-----\nabcdefghijkl\nab\n-----END KEY-----"
    await put(admin, "key", key_file)
    await put(admin, "short", "42")
    work = await ground.submit(admin, "w", secrets={"KEY": "key", "SHORT": "short"})
    await ground.settle()
    await put(admin, "key", "a new value")
    made(await admin.delete("/me/secrets/key"))
    masks = await database.read(box.masks, work)
    assert {one.decode() for one in masks} == {key_file, *key_file.splitlines()} - {"ab"}
    await database.write(forget_withdrawn, 100)
    assert len(await database.read(rows)) == 2  # without the value that no work was given

    made(await admin.post(f"/workloads/{work}/stop"))
    await ground.pass_time(10)
    made(await admin.post(f"/workloads/{work}/delete"))
    await database.write(forget_withdrawn, 100)
    assert [row.name for row in await database.read(rows)] == ["short"]


async def test_work_whose_secret_is_gone_is_refused_with_the_reason(ground: Ground) -> None:
    admin = ground.campus.admin
    await put(admin, "key")
    work = await ground.submit(admin, "w", secrets={"KEY": "key"})
    made(await admin.delete("/me/secrets/key"))
    await ground.settle()
    seen = await ground.get(work)
    assert seen["state"] == "queued"
    assert "There is no secret key any more" in seen["reason"]["sentence"]
    await put(admin, "key")
    await ground.pass_time(60)
    assert await ground.state(work) == "running"


async def test_new_key_seals_everything_anew_and_the_old_one_can_go(campus: Campus) -> None:
    old, new = randomness.token_bytes(32), randomness.token_bytes(32)
    user = made(await campus.admin.get("/me"))["id"]
    before = SecretBox(Keyring([old]))
    await put(campus.admin, "key")

    def seal_with_old(transaction: Transaction) -> None:
        (row,) = rows(transaction)
        sealed = before.keyring.encrypt(VALUE, f"secret:{row.id}")
        transaction.run(secret.update().values(sealed=sealed, key=before.keyring.newest))

    await campus.database.write(seal_with_old)
    rotated = SecretBox(Keyring([new, old]))
    assert await campus.database.write(rotated.renew, 100) == 1
    assert await campus.database.write(rotated.renew, 100) == 0
    (row,) = await campus.database.read(rows)
    assert (row.user_id, Keyring([new]).decrypt(row.sealed, f"secret:{row.id}")) == (user, VALUE)
    assert base64.b64encode(new).decode() not in row.key


async def test_a_secret_of_very_many_lines_is_refused(ground: Ground) -> None:
    """Each line is looked for in the output by itself."""
    answer = await ground.campus.admin.put("/me/secrets/list", {"value": "\n".join(["abcdefgh"] * 601)})
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "body.value")
    assert "at most 600 lines" in answer.json()["errors"][0]["message"]
