"""Tokens, SSH keys and the audit log from the command line."""

import csv
import io
import json
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from tests.cli.running import Corral, Done
from tests.live import LiveCorral


def new_key(folder: Path, comment: str) -> Path:
    """A key pair as ssh-keygen leaves it."""
    pair = Ed25519PrivateKey.generate()
    private = pair.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = pair.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    (folder / "id_ed25519").write_bytes(private)
    (folder / "id_ed25519.pub").write_bytes(public + f" {comment}\n".encode())
    return folder / "id_ed25519"


def test_a_token_works_until_it_is_revoked(corral: Corral, done: Done, live_corral: LiveCorral) -> None:
    made = done("token", "create", "nightly", "--until", "7d")
    as_token = {"CORRAL_URL": live_corral.url, "CORRAL_TOKEN": made["secret"]}
    assert corral("whoami", "--json", **as_token).json["via"] == "token"

    done("token", "delete", "nightly")

    refused = corral("whoami", **as_token)
    assert refused.code == 1
    assert "nightly" not in [each["name"] for each in done("token", "list")]


def test_a_token_may_do_no_more_than_its_scopes(corral: Corral, done: Done, live_corral: LiveCorral) -> None:
    made = done("token", "create", "reader", "--scope", "organisations.read")
    as_token = {"CORRAL_URL": live_corral.url, "CORRAL_TOKEN": made["secret"]}
    assert corral("org", "list", **as_token).code == 0
    refused = corral("org", "create", "Not allowed", **as_token)
    assert refused.code == 1
    assert "organisations.manage" in refused.err
    assert refused.out == ""


def test_the_secret_of_a_token_is_shown_once(admin: Corral, done: Done) -> None:
    shown = admin("token", "create", "once")
    secret = shown.out.splitlines()[0]
    assert secret.startswith("corral_")
    assert secret.split("_", 2)[2] not in admin("token", "list", "--json").out


def test_an_ssh_key_is_added_listed_and_removed(admin: Corral, done: Done, tmp_path: Path) -> None:
    key = new_key(tmp_path, "mei@laptop")

    refused = admin("ssh-key", "create", str(key))
    assert refused.code == 1
    assert "private key" in refused.err

    added = done("ssh-key", "create", f"{key}.pub")
    assert (added["title"], added["kind"]) == ("mei@laptop", "ssh-ed25519")
    assert added["fingerprint"] in admin("ssh-key", "list").out
    done("ssh-key", "delete", added["fingerprint"])
    assert added["id"] not in [each["id"] for each in done("ssh-key", "list")]


def test_what_is_no_key_is_refused(admin: Corral) -> None:
    refused = admin("ssh-key", "create", "-", "--title", "x", stdin="not a key\n")
    assert refused.code == 1
    assert "public_key" in refused.err or "key" in refused.err


def test_every_change_is_in_the_audit_log_with_before_and_after(admin: Corral, done: Done) -> None:
    made = done("org", "create", "Audited")
    done("org", "edit", made["id"], "--name", "Audited anew")

    entries = done("audit", "list", "--object", made["id"])

    renamed = next(each for each in entries if each["before"] and each["before"].get("name") == "Audited")
    assert renamed["after"]["name"] == "Audited anew"
    assert renamed["actor_name"] == "admin"
    shown = admin("audit", "show", renamed["id"]).out
    line = next(line for line in shown.splitlines() if line.startswith("name"))
    assert line.split() == ["name", "Audited", "Audited", "anew"]


def test_audit_filters_narrow(done: Done) -> None:
    everything = done("audit", "list", "--limit", "200")
    action = everything[-1]["action"]
    some = done("audit", "list", "--action", action, "--limit", "200")
    assert some
    assert {each["action"] for each in some} == {action}
    assert done("audit", "list", "--since", "2030-01-01") == []
    assert len(done("audit", "list", "--user", "admin", "--since", "1d", "--limit", "1")) == 1


def test_a_time_that_cannot_be_read_names_the_option(admin: Corral) -> None:
    refused = admin("audit", "list", "--since", "yesterday-ish")
    assert refused.code == 1
    assert "--since" in refused.err


def test_the_audit_log_is_exported_as_lines_and_as_csv(admin: Corral, tmp_path: Path) -> None:
    lines = admin("audit", "export").out.splitlines()
    assert lines
    assert all("action" in json.loads(line) for line in lines)

    file = tmp_path / "audit.csv"
    assert admin("audit", "export", "--format", "csv", "-o", str(file)).code == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text())))
    assert len(rows) >= len(lines)
    assert "actor_name" in rows[0]

    again = admin("audit", "export", "-o", str(file))
    assert again.code == 1
    assert "exists already" in again.err


def test_actions_are_listed(done: Done) -> None:
    assert "audit.export" in [each["key"] for each in done("audit", "actions")]


def test_a_secret_is_set_from_standard_input_listed_and_deleted(admin: Corral, done: Done) -> None:
    said = admin("secret", "create", "api-key", stdin="hidden-value\n")
    assert said.code == 0
    assert "hidden-value" not in said.out + said.err
    assert [each["name"] for each in done("secret", "list")] == ["api-key"]
    assert "hidden-value" not in admin("secret", "list", "--json").out
    done("secret", "delete", "api-key")
    assert "corral secret create" in admin("secret", "list").err
    assert admin("secret", "delete", "api-key").code == 1


def test_a_runtime_is_defined_listed_and_deleted(admin: Corral, done: Done, tmp_path: Path) -> None:
    listed = tmp_path / "requirements.txt"
    listed.write_text("# for images\nnumpy>=2\n\npillow\n")
    made = done("runtime", "create", "vision", "scipy", "-r", str(listed), "--no-build")
    assert (made["requirements"], made["state"]) == (["scipy", "numpy>=2", "pillow"], "defined")
    assert done("runtime", "create", "vision", "torch", "--no-build")["version"] == 2
    assert "scikit-learn" in admin("runtime", "list").err
    done("runtime", "delete", "vision:1")
    found = done("runtime", "list")["items"]
    assert [each["version"] for each in found if each["name"] == "vision"] == [2]
    done("runtime", "delete", "vision")
    assert admin("runtime", "delete", "vision").code == 1
    assert "Give a list" in admin("runtime", "create", "unknown").err
