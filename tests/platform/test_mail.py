"""Outgoing mail, against a real mail server: settings, test mail, encryption, what goes wrong."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from corral.platform.tables import setting
from corral.store.database import Transaction
from tests.campus import Campus, made, refused
from tests.platform.smtp import MAIL_PASSWORD, USER_NAME, mail_server, self_signed

SENDER = "corral@example.org"


async def set_mail(campus: Campus, **fields: Any) -> Any:
    new = {"host": "localhost", "encryption": "none", "sender": SENDER, **fields}
    return made(await campus.admin.put("/settings/mail", new, match="*"))


async def test_mail_is_off_until_set_up(campus: Campus) -> None:
    answer = await campus.admin.get("/settings/mail")
    assert answer.headers["etag"] == '"0"'
    assert made(answer) == {
        "host": None,
        "port": 587,
        "encryption": "starttls",
        "user_name": None,
        "password_set": False,
        "sender": None,
        "tested_at": None,
        "generation": 0,
    }
    problem = refused(await campus.admin.post("/settings/mail/test", {"to": "a@example.org"}), 422)
    assert problem["type"] == "/problems/mail-not-sent"
    assert "No mail server" in problem["detail"]


async def test_test_mail_arrives_and_is_remembered(campus: Campus) -> None:
    async with mail_server() as server:
        await set_mail(campus, port=server.port)
        tested = made(await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"}))
    (mail,) = server.mails
    assert server.recipients == [["mei@example.org"]]
    assert (mail["To"], mail["From"]) == ("mei@example.org", f"Corral <{SENDER}>")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Message-ID"].endswith("@example.org>")
    assert mail["Date"] is not None
    assert "https://corral.test" in mail.get_content()
    stored = made(await campus.admin.get("/settings/mail"))
    assert stored["tested_at"] == tested["tested_at"]
    changed = await set_mail(campus, port=server.port)
    assert changed["tested_at"] is None  # what was tested is not what is set now


async def test_password_is_encrypted_at_rest_and_never_shown(campus: Campus) -> None:
    tls = {"encryption": "tls", "user_name": USER_NAME}
    answer = await set_mail(campus, **tls, password=MAIL_PASSWORD)
    assert answer["password_set"] is True

    def raw(transaction: Transaction) -> str:
        return str(transaction.scalar(select(setting.c.value).where(setting.c.key == "mail")))

    assert MAIL_PASSWORD not in await campus.database.read(raw)
    shown = (await campus.admin.get("/settings/mail")).text + str(await campus.audit(action="setting.change"))
    assert MAIL_PASSWORD not in shown
    # Left out or null keeps it, empty forgets it.
    assert (await set_mail(campus, **tls))["password_set"] is True
    assert (await set_mail(campus, **tls, password=None, port=465))["password_set"] is True
    assert (await set_mail(campus, **tls, password=""))["password_set"] is False


async def test_a_stored_password_goes_to_no_other_server_and_never_in_the_clear(campus: Campus) -> None:
    stored = {"host": "mail.example.org", "encryption": "tls", "user_name": USER_NAME, "sender": SENDER}
    made(await campus.admin.put("/settings/mail", {**stored, "password": MAIL_PASSWORD}, match="*"))

    async def put(**fields: Any) -> Any:
        return await campus.admin.put("/settings/mail", {**stored, **fields}, match="*")

    refused(await put(encryption="none"), 422, "invalid", "body.encryption")
    refused(await put(encryption="none", password="new-one"), 422, "invalid", "body.encryption")
    refused(await put(host="mine.example.org"), 422, "invalid", "body.password")
    made(await put(host="mine.example.org", password="for-this-one"))
    made(await put(host="mine.example.org", encryption="none", password=""))


async def test_settings_that_cannot_work_are_refused(campus: Campus) -> None:
    for field, change in {
        "body.sender": {"host": "mail.example.org"},
        "body.user_name": {"password": "x"},
        "body.port": {"port": 0},
        "body.host": {"host": "not a host", "sender": SENDER},
        "body.encryption": {"encryption": "ssl"},
    }.items():
        refused(await campus.admin.put("/settings/mail", change, match="*"), 422, "invalid", field)
    refused(await campus.admin.put("/settings/mail", {"host": None}), 428)
    refused(await campus.admin.put("/settings/mail", {"host": None}, match='"4"'), 412, "stale")
    made(await campus.admin.put("/settings/mail", {"host": None}, match='"0"'))


async def test_what_the_mail_server_says_reaches_the_administrator(campus: Campus) -> None:
    async with mail_server() as server:
        await set_mail(campus, port=server.port)
        for to, word in (
            ("refused@example.org", "refused the recipient"),
            ("a..b@example.org", "not an address"),
            (".a@example.org", "not an address"),
        ):
            answer = await campus.admin.post("/settings/mail/test", {"to": to})
            assert word in refused(answer, 422, "mail-not-sent")["detail"]
        port = server.port
    answer = await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"})
    assert f"localhost:{port} cannot be reached" in refused(answer, 422, "mail-not-sent")["detail"]
    assert made(await campus.admin.get("/settings/mail"))["tested_at"] is None
    assert server.mails == []


async def test_a_silent_server_is_given_up(campus: Campus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corral.platform.mail.TIMEOUT_SECONDS", 0.2)

    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    silent = await asyncio.start_server(silence, "127.0.0.1", 0)
    async with silent:
        await set_mail(campus, port=silent.sockets[0].getsockname()[1])
        answer = await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"})
        assert "did not answer" in refused(answer, 422, "mail-not-sent")["detail"]


@pytest.mark.parametrize("encryption", ["starttls", "tls"])
async def test_an_untrusted_certificate_is_refused_and_a_trusted_one_taken(
    campus: Campus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encryption: str
) -> None:
    certificate = self_signed(tmp_path)
    options: dict[str, Any] = {"tls_context": certificate.context, "auth_required": True}
    if encryption == "tls":
        options = {"ssl": certificate.context, "auth_require_tls": False}
    async with mail_server(**options) as server:
        account = {"encryption": encryption, "user_name": USER_NAME, "port": server.port}
        await set_mail(campus, **account, password=MAIL_PASSWORD)
        answer = await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"})
        assert "certificate" in refused(answer, 422, "mail-not-sent")["detail"].lower()
        assert server.signed_in == []
        # The machine's own list of authorities decides, here made to know this one.
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.path))
        made(await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"}))
        assert (server.signed_in, server.encrypted) == ([USER_NAME], [True])
        await set_mail(campus, **account, password="wrong-secret")
        answer = await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"})
        detail = refused(answer, 422, "mail-not-sent")["detail"]
        assert "rejected the user name or password" in detail
        assert "wrong-secret" not in detail


async def test_a_server_without_encryption_gets_no_mail_that_asks_for_it(campus: Campus) -> None:
    async with mail_server() as server:
        await set_mail(campus, port=server.port, encryption="starttls")
        answer = await campus.admin.post("/settings/mail/test", {"to": "mei@example.org"})
        assert "STARTTLS" in refused(answer, 422, "mail-not-sent")["detail"]
        assert server.mails == []


async def test_settings_belong_to_the_whole_installation(campus: Campus) -> None:
    """A role with these permissions further down the tree opens nothing here."""
    lab = await campus.organisation("Vision Lab")
    role = await campus.role("Operator", ["settings.read", "settings.manage", "system.read"])
    lead = await campus.person("lead", lab, role)
    client = await campus.sign_in("lead")
    new = {"host": None}
    for answer in (
        await client.get("/settings/mail"),
        await client.put("/settings/mail", new, match="*"),
        await client.post("/settings/mail/test", {"to": "mei@example.org"}),
        await client.get("/settings/registration"),
        await client.get("/checklist"),
        await client.get("/system"),
    ):
        refused(answer, 403, "forbidden")
    made(await campus.grant(lead, role, campus.root))
    made(await client.put("/settings/mail", new, match="*"))
    made(await client.get("/system"))
