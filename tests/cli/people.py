"""People for tests of signing in."""

from http.cookies import SimpleCookie

from corral_sdk import Client

from tests.cli.running import Done
from tests.live import LiveCorral


def new_person(done: Done, live_corral: LiveCorral, name: str, password: str) -> str:
    """Someone with a password of their own, made the way a person would: with the login link."""
    made = done("user", "create", name)
    secret = made["login_link"]["secret"]
    transport = Client(live_corral.url, environ={"HOME": "/nonexistent"})._transport
    answer = transport.request("POST", "/api/v1/session/link", body={"secret": secret})
    cookies = SimpleCookie(answer.headers["set-cookie"])
    cookie = "; ".join(f"{name}={one.value}" for name, one in cookies.items())
    headers = {"Cookie": cookie, "X-CSRF-Token": answer.json()["csrf_token"]}
    transport.request("POST", "/api/v1/me/password", body={"new_password": password}, headers=headers)
    transport.request("DELETE", "/api/v1/session", headers=headers)
    return str(made["user"]["id"])


def open_sessions(live_corral: LiveCorral, user_id: str) -> int:
    client = Client(environ={"HOME": "/nonexistent", "CORRAL_HOME": str(live_corral.home)})
    return len(list(client.users.sessions(user_id)))
