"""Text that PostgreSQL cannot store is refused wherever the API takes text, never an error of ours."""

from typing import Any

import pytest

from tests.apps import ApiClient
from tests.campus import refused
from tests.description import api_description

OPERATIONS = [
    (path, operation["parameters"])
    for path, methods in api_description()["paths"].items()
    for method, operation in methods.items()
    if method == "get" and "parameters" in operation and path != "/api/v1/events"
]


async def test_text_in_a_body_refuses_nul(admin: ApiClient) -> None:
    for field in ("user_name", "password"):  # without a rule of their own for what they hold
        answer = await admin.request(
            "PUT", "/settings/mail", json={field: "a\x00b"}, headers={"If-Match": "*"}
        )
        assert refused(answer, 422, "invalid")["errors"][0]["field"] == f"body.{field}"


@pytest.mark.parametrize(("path", "parameters"), OPERATIONS, ids=[path for path, _ in OPERATIONS])
async def test_every_text_in_an_address_refuses_nul(
    admin: ApiClient, path: str, parameters: list[dict[str, Any]]
) -> None:
    for parameter in parameters:
        if parameter["in"] == "query":
            where = f"{path.removeprefix('/api/v1')}?{parameter['name']}=a%00"
            answer = await admin.request("GET", where)
            assert answer.status_code < 500, where
