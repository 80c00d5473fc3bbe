"""SSH public keys: which are taken, what is kept of them."""

import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from sqlalchemy import select

from corral.core.refusals import Invalid
from corral.identity.accounts import read_ssh_key
from corral.identity.tables import ssh_key
from corral.store.database import Transaction
from tests.campus import Campus, made, refused

AnyPrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def line(key: AnyPrivateKey) -> str:
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


@pytest.fixture(scope="module")
def ed25519_key() -> ed25519.Ed25519PrivateKey:
    return ed25519.Ed25519PrivateKey.generate()


def test_usual_kinds_are_taken_with_the_fingerprint_that_ssh_shows() -> None:
    keys: dict[str, AnyPrivateKey] = {
        "ssh-ed25519": ed25519.Ed25519PrivateKey.generate(),
        "ecdsa-sha2-nistp256": ec.generate_private_key(ec.SECP256R1()),
        "ecdsa-sha2-nistp521": ec.generate_private_key(ec.SECP521R1()),
        "ssh-rsa": rsa.generate_private_key(65537, 2048),
    }
    for kind, key in keys.items():
        blob = line(key).split()[1]
        digest = hashlib.sha256(base64.b64decode(blob)).digest()
        expected = "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
        assert read_ssh_key(line(key)) == (kind, blob, expected)


def test_comment_and_options_are_dropped(ed25519_key: ed25519.Ed25519PrivateKey) -> None:
    plain = read_ssh_key(line(ed25519_key))
    assert read_ssh_key(f"{line(ed25519_key)} mei@laptop, the blue one") == plain
    assert read_ssh_key(f'restrict,command="rm -rf /" {line(ed25519_key)} mei') == plain


def test_what_is_no_fit_public_key_is_refused(ed25519_key: ed25519.Ed25519PrivateKey) -> None:
    private = ed25519_key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    kind, blob = line(ed25519_key).split()
    short_rsa = line(rsa.generate_private_key(65537, 1024))
    for text, word in {
        private: "private key",
        short_rsa: "1024 bits",
        f"ssh-rsa {blob}": "cannot be read",
        f"{kind} {blob[:-8]}": "",
        f"{kind} {blob}\n{kind} {blob}": "not a single public key",
        f"ssh-dss {blob}": "not a single public key",
        kind: "not a single public key",
        "nonsense": "not a single public key",
        f"{kind} !!!": "cannot be read",
        f"sk-ssh-ed25519@openssh.com {blob}": "another kind",
    }.items():
        with pytest.raises(Invalid) as error:
            read_ssh_key(text)
        assert word in error.value.detail, text
        assert error.value.errors[0].field == "body.public_key"
        assert text[:200] not in error.value.detail


async def test_keys_are_added_listed_and_removed(
    campus: Campus, ed25519_key: ed25519.Ed25519PrivateKey
) -> None:
    await campus.person("mei")
    client = await campus.sign_in("mei")
    new = {"title": "Laptop", "public_key": f"  {line(ed25519_key)} mei@laptop\n"}
    key = made(await client.post("/me/ssh-keys", new))
    assert (key["title"], key["kind"]) == ("Laptop", "ssh-ed25519")
    assert made(await client.get("/me/ssh-keys"))["items"] == [key]

    def stored(transaction: Transaction) -> str:
        return str(transaction.scalar(select(ssh_key.c.public_key)))

    assert await campus.database.read(stored) == line(ed25519_key)
    refused(await client.post("/me/ssh-keys", new), 409, "conflict", "body.public_key")
    refused(await campus.admin.delete(f"/me/ssh-keys/{key['id']}"), 404, "not-found")
    made(await client.delete(f"/me/ssh-keys/{key['id']}"))
    assert made(await client.get("/me/ssh-keys"))["items"] == []


async def test_a_key_that_somebody_else_has_does_not_tell(
    campus: Campus, ed25519_key: ed25519.Ed25519PrivateKey
) -> None:
    """Public keys are public: adding one must not answer whose account exists here."""
    await campus.person("mei")
    new = {"title": "Laptop", "public_key": line(ed25519_key)}
    theirs = made(await (await campus.sign_in("mei")).post("/me/ssh-keys", new))
    ours = made(await campus.admin.post("/me/ssh-keys", new))
    assert ours["id"] != theirs["id"]
    assert ours["fingerprint"] == theirs["fingerprint"]


async def test_a_private_key_is_refused_and_told_not_to_be_shown(
    campus: Campus, ed25519_key: ed25519.Ed25519PrivateKey
) -> None:
    private = ed25519_key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()).decode()
    answer = await campus.admin.post("/me/ssh-keys", {"title": "Mistake", "public_key": private})
    problem = refused(answer, 422, "invalid", "body.public_key")
    assert "Never show it" in problem["remedy"]
    assert private[100:140] not in answer.text
