"""The application of the tests: the administrator is signed in, a visitor is not."""

from tests.apps import ApiClient


async def test_administrator_is_signed_in_and_may_change_things(admin: ApiClient) -> None:
    assert (await admin.get("/me")).json()["name"] == "admin"
    answer = await admin.patch("/me", {"display_name": "Ada"}, match="*")
    assert answer.status_code == 200, answer.text


async def test_visitor_is_nobody(visitor: ApiClient) -> None:
    assert (await visitor.get("/me")).status_code == 401
    assert (await visitor.get("//healthz")).status_code == 200
