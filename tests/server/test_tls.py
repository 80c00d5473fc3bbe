"""Corral over TLS, for real: its own certificate on loopback and on all interfaces, and behind a proxy."""

import re
import ssl
from collections.abc import Iterator
from http.cookies import Morsel, SimpleCookie
from pathlib import Path
from typing import Self

import httpx2
import pytest
from corral_sdk import Client, UntrustedError

from corral.net.tls import TlsError, server_context
from tests.cli.running import run_here
from tests.live import LiveCorral, running_corral
from tests.server.authority import Authority

PUBLIC = "https://corral.example.org"
FIRST_PASSWORD = "seven quiet horses"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def secure(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCorral]:
    """Its own certificate, on 127.0.0.1."""
    pair = authority.issue("127.0.0.1")
    flags = ["--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)]
    with running_corral(tmp_path_factory.mktemp("secure"), *flags) as live:
        yield live


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveCorral]:
    """Behind a proxy that ends TLS; the tests are the proxy."""
    with running_corral(tmp_path_factory.mktemp("proxied"), "--behind-proxy", PUBLIC) as live:
        yield live


class Browser:
    """Keeps the session's cookie by hand, so that what the server set can be looked at."""

    def __init__(
        self, url: str, ca_file: Path | None = None, from_address: str | None = None, **headers: str
    ) -> None:
        verify = ssl.create_default_context(cafile=ca_file) if ca_file else False
        transport = httpx2.HTTPTransport(verify=verify, local_address=from_address)
        self.http = httpx2.Client(base_url=url, headers=headers, transport=transport)
        self.cookie: Morsel[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def sign_in(self, name: str, password: str) -> httpx2.Response:
        body = {"provider": "local", "name": name, "password": password}
        answer = self.http.post("/api/v1/session", json=body)
        if answer.is_success:
            (self.cookie,) = (
                morsel
                for header in answer.headers.get_list("set-cookie")
                for name, morsel in SimpleCookie(header).items()
                if "session" in name
            )
            self.http.headers["Cookie"] = f"{self.cookie.key}={self.cookie.value}"
            self.http.headers["X-CSRF-Token"] = answer.json()["csrf_token"]
        return answer

    def choose_password(self, password: str) -> httpx2.Response:
        return self.http.post("/api/v1/me/password", json={"new_password": password})


def sign_in_as_admin(browser: Browser, live: LiveCorral) -> httpx2.Response:
    answer = browser.sign_in(live.admin_name, live.admin_password)
    assert answer.is_success, answer.text
    return answer


def change_password(browser: Browser, live: LiveCorral) -> None:
    """The first state change of the first administrator."""
    answer = browser.choose_password(FIRST_PASSWORD)
    assert answer.is_success, answer.text
    live.changed_password = FIRST_PASSWORD


def local_client(live: LiveCorral) -> Client:
    """As whoever started it, on this machine, with nothing else set."""
    return Client(environ={"HOME": "/nonexistent", "CORRAL_HOME": str(live.home)})


def address_of_refused_sign_in(live: LiveCorral) -> str:
    return next(local_client(live).audit.list(action="session.create", result="refused")).address


def test_the_terminal_names_the_https_address_and_no_tunnel(secure: LiveCorral) -> None:
    shown = secure.log.read_text()
    assert secure.url == f"https://127.0.0.1:{secure.port}"
    assert f"{secure.url}/login#once=" in shown
    assert "ssh -L" not in shown
    assert "http://" not in shown


def test_what_the_authority_signed_is_trusted_and_nothing_else_answers(
    secure: LiveCorral, authority: Authority
) -> None:
    with Browser(secure.url, authority.ca_file) as browser:
        answer = browser.http.get("/healthz")
        assert answer.status_code == 200
        assert re.fullmatch(r"max-age=\d{7,}", answer.headers["strict-transport-security"])
    with pytest.raises(UntrustedError, match="CORRAL_CA_FILE") as refused:
        Client(secure.url, "corral_x_y", environ={}).session.get()
    assert secure.url in refused.value.title
    with httpx2.Client() as plain, pytest.raises(httpx2.RemoteProtocolError):
        plain.get(f"http://127.0.0.1:{secure.port}/healthz")


def test_a_certificate_of_another_name_is_not_accepted(secure: LiveCorral, authority: Authority) -> None:
    url = f"https://localhost:{secure.port}"
    with pytest.raises(UntrustedError, match="Use a name that is in the certificate"):
        Client(url, "corral_x_y", ca_file=str(authority.ca_file), environ={}).session.get()


def test_the_session_cookie_is_bound_to_the_host_and_a_change_needs_its_token(
    secure: LiveCorral, authority: Authority
) -> None:
    with Browser(secure.url, authority.ca_file, Origin=secure.url) as browser:
        sign_in_as_admin(browser, secure)
        cookie = browser.cookie
        assert cookie is not None
        assert cookie.key == "__Host-corral_session"
        assert cookie["secure"] is True
        assert cookie["httponly"] is True
        assert cookie["samesite"].lower() == "strict"
        assert cookie["path"] == "/"
        assert cookie["domain"] == ""

        token = browser.http.headers.pop("X-CSRF-Token")
        assert browser.choose_password(FIRST_PASSWORD).status_code == 403
        browser.http.headers["X-CSRF-Token"] = token
        change_password(browser, secure)

        made = browser.http.post("/api/v1/me/tokens", json={"name": "nightly", "scopes": ["*"]})
        assert made.status_code == 201, made.text
        assert browser.http.get("/api/v1/me").json()["name"] == "admin"


def test_the_command_on_the_machine_trusts_the_certificate_it_runs_with(secure: LiveCorral) -> None:
    client = local_client(secure)
    assert client.endpoint.url == secure.url
    assert client.session.get().user.name == "admin"


def test_a_private_authority_is_kept_with_the_sign_in(
    secure: LiveCorral, authority: Authority, tmp_path: Path
) -> None:
    if secure.changed_password is None:
        with Browser(secure.url, authority.ca_file) as browser:
            sign_in_as_admin(browser, secure)
            change_password(browser, secure)
    person = {"HOME": str(tmp_path)}
    sign_in = ["login", "--url", secure.url, "--name", "admin", "--password-stdin"]
    password = f"{secure.admin_password}\n"

    untrusted = run_here(*sign_in, environ=person, stdin=password)
    assert untrusted.code == 1
    assert "--ca-file" in untrusted.err

    signed_in = run_here(*sign_in, "--ca-file", str(authority.ca_file), environ=person, stdin=password)
    assert signed_in.code == 0, signed_in.err
    assert run_here("whoami", "--json", environ=person).json["url"] == secure.url
    assert run_here("logout", "--json", environ=person).json["revoked"] is True


def test_a_variable_names_the_authority_and_a_wrong_file_is_told(
    secure: LiveCorral, authority: Authority, tmp_path: Path
) -> None:
    person = {"HOME": str(tmp_path), "CORRAL_URL": secure.url, "CORRAL_TOKEN": secure.local_token}
    shown = run_here("whoami", "--json", environ={**person, "CORRAL_CA_FILE": str(authority.ca_file)})
    assert shown.json["user"]["name"] == "admin"

    (tmp_path / "empty.pem").touch()
    for name, why in (("empty.pem", "It holds no certificate."), ("none.pem", "No such file")):
        refused = run_here("whoami", environ={**person, "CORRAL_CA_FILE": str(tmp_path / name)})
        assert refused.code == 1
        assert name in refused.err
        assert why in refused.err
        assert "Traceback" not in refused.err


def test_without_a_proxy_nobody_can_pass_for_another_address(
    secure: LiveCorral, authority: Authority
) -> None:
    headers = {"X-Forwarded-For": "203.0.113.9"}
    with Browser(secure.url, authority.ca_file, **headers) as browser:
        assert browser.sign_in("admin", "wrong").status_code == 401
    assert address_of_refused_sign_in(secure) == "127.0.0.1"


def test_on_all_interfaces_it_answers_under_its_names_only(authority: Authority, tmp_path: Path) -> None:
    pair = authority.issue("localhost", "corral.example.org", "127.0.0.1", label="everywhere")
    flags = ["--host", "0.0.0.0", "--host-names", "localhost,corral.example.org"]
    flags += ["--tls-certificate", str(pair.certificate), "--tls-key", str(pair.key)]
    with running_corral(tmp_path, *flags) as live:
        assert live.url == f"https://localhost:{live.port}"
        assert f"{live.url}/login#once=" in live.log.read_text()
        assert local_client(live).session.get().user.name == "admin"
        second = f"https://corral.example.org:{live.port}"
        with Browser(live.url, authority.ca_file) as browser:
            for host, status in (("corral.example.org", 200), ("evil.example", 400), ("0.0.0.0", 400)):
                answer = browser.http.get("/healthz", headers={"Host": f"{host}:{live.port}"})
                assert answer.status_code == status, host
        with Browser(live.url, authority.ca_file, Origin=second) as browser:
            sign_in_as_admin(browser, live)
            change_password(browser, live)
        with Browser(live.url, authority.ca_file, Origin="https://evil.example") as browser:
            assert browser.sign_in("admin", FIRST_PASSWORD).status_code == 403


def test_behind_a_proxy_everything_names_the_public_address(proxied: LiveCorral) -> None:
    assert f"{PUBLIC}/login#once=" in proxied.log.read_text()
    assert proxied.url == PUBLIC
    client = local_client(proxied)
    assert client.endpoint.url == f"http://127.0.0.1:{proxied.port}"
    assert client.session.get().user.name == "admin"


def test_behind_a_proxy_only_pages_of_the_public_address_change_things(proxied: LiveCorral) -> None:
    local = f"http://127.0.0.1:{proxied.port}"
    host = {"Host": "corral.example.org"}
    for origin in (local, "http://corral.example.org", f"{PUBLIC}:8443", "https://evil.example"):
        with Browser(local, **host, Origin=origin) as browser:
            answer = browser.sign_in(proxied.admin_name, proxied.admin_password)
            assert answer.status_code == 403, origin
    with Browser(local, **host, Origin=PUBLIC) as browser:
        answer = sign_in_as_admin(browser, proxied)
        assert "strict-transport-security" in answer.headers
        assert browser.cookie is not None
        assert browser.cookie.key == "__Host-corral_session"
        assert browser.cookie["secure"] is True
        change_password(browser, proxied)


def test_only_a_trusted_proxy_says_where_a_request_comes_from(proxied: LiveCorral) -> None:
    local = f"http://127.0.0.1:{proxied.port}"
    forwarded = {"X-Forwarded-For": "198.51.100.7, 203.0.113.9, 127.0.0.1"}
    with Browser(local, **forwarded) as proxy:
        assert proxy.sign_in("admin", "wrong").status_code == 401
    # The rightmost that is no proxy of ours: what stands left of it, the caller may have written.
    assert address_of_refused_sign_in(proxied) == "203.0.113.9"
    with Browser(local, from_address="127.0.0.2", **forwarded) as stranger:
        assert stranger.sign_in("admin", "wrong").status_code == 401
    assert address_of_refused_sign_in(proxied) == "127.0.0.2"


def test_a_certificate_that_cannot_be_used_stops_the_start_with_the_reason(
    authority: Authority, tmp_path: Path
) -> None:
    one, other = authority.issue("127.0.0.1", label="one"), authority.issue("127.0.0.1", label="other")
    flags = ["--tls-certificate", str(one.certificate), "--tls-key", str(other.key)]
    with pytest.raises(AssertionError) as failed, running_corral(tmp_path, *flags):
        pass
    assert f"The private key {other.key} does not belong to the certificate {one.certificate}." in str(
        failed.value
    )
    assert "Traceback" not in str(failed.value)


def test_old_versions_of_tls_are_not_offered(authority: Authority) -> None:
    pair = authority.issue("127.0.0.1", label="modern")
    assert server_context(pair.certificate, pair.key).minimum_version == ssl.TLSVersion.TLSv1_2


def test_an_encrypted_key_and_a_file_without_certificate_are_told(
    authority: Authority, tmp_path: Path
) -> None:
    locked = authority.issue("127.0.0.1", label="locked", password="secret")
    with pytest.raises(TlsError, match="is encrypted") as refused:
        server_context(locked.certificate, locked.key)
    assert "openssl pkey" in refused.value.remedy
    (tmp_path / "empty.pem").write_text("nothing\n")
    with pytest.raises(TlsError, match=r"empty\.pem") as refused:
        server_context(tmp_path / "empty.pem", locked.key)
    assert "PEM" in refused.value.remedy
