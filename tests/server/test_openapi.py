"""The API's description is complete: whoever reads only it can use the API."""

from typing import Any

import pytest

from tests.apps import ApiClient
from tests.campus import made, refused
from tests.description import api_description

MAIN_MODELS = [
    "User",
    "Organisation",
    "Role",
    "Token",
    "SshKey",
    "Invitation",
    "JoinCode",
    "Session",
    "AuditEntry",
    "MailSettings",
    "NewUser",
    "NewOrganisation",
    "NewRole",
    "NewToken",
    "NewInvitation",
    "NewJoinCode",
    "NewSshKey",
    "Import",
    "SignIn",
    "Checklist",
    "System",
    "Problem",
]


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    described: dict[str, Any] = api_description()
    return described


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_is_named_once_and_described(document: dict[str, Any]) -> None:
    found = operations(document)
    assert len(found) > 50
    ids = [operation["operationId"] for _, _, operation in found]
    assert len(ids) == len(set(ids))
    for path, method, operation in found:
        assert operation["summary"], (path, method)
        assert operation["description"].endswith("."), (path, method)
        assert operation["tags"], (path, method)
        for parameter in operation.get("parameters", ()):
            assert parameter["schema"], (path, parameter)


def test_every_operation_says_who_may_and_how_it_refuses(document: dict[str, Any]) -> None:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    for path, method, operation in operations(document):
        assert operation["x-permission"], (path, method)
        anyone = operation["x-permission"] == "anyone"
        assert (operation["security"] == []) is anyone, (path, method)
        responses = operation["responses"]
        assert any(status.startswith("2") for status in responses)
        for status in ("422", "503") if anyone else ("401", "403", "422", "503"):
            assert responses[status]["content"] == problem, (path, method, status)
        versioned = any(one["name"].lower() == "if-match" for one in operation.get("parameters", ()))
        assert versioned is ("412" in responses) is ("428" in responses), (path, method)


def test_creates_take_an_idempotency_key(document: dict[str, Any]) -> None:
    for path in ("/organisations", "/users", "/roles", "/invitations", "/join-codes", "/me/tokens"):
        parameters = document["paths"][f"/api/v1{path}"]["post"]["parameters"]
        assert "idempotency-key" in [one["name"].lower() for one in parameters]


def test_every_property_has_a_type(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    assert "HTTPValidationError" not in schemas
    for name, schema in schemas.items():
        if schema.get("type") != "object":
            assert schema.get("type") or schema.get("enum") or schema.get("anyOf"), name
            continue
        for field, described in schema.get("properties", {}).items():
            typed = {"type", "$ref", "anyOf", "allOf", "enum", "const"} & set(described)
            assert typed, f"{name}.{field} has no type"


def test_main_models_come_with_examples(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    for name in MAIN_MODELS:
        assert name in schemas
        text = str(schemas[name])
        assert "'examples'" in text or "'example'" in text, f"{name} has no example"


def test_all_references_lead_somewhere(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(value.get("$ref"), str):
                assert value["$ref"].rpartition("/")[2] in schemas
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(document)


@pytest.mark.sqlite
class TestOverHttp:
    @pytest.fixture
    def database_kind(self) -> str:
        return "sqlite"

    async def test_description_is_served_to_people_who_are_signed_in(
        self, admin: ApiClient, visitor: ApiClient
    ) -> None:
        served = made(await admin.get("/openapi.json"))
        assert served["openapi"].startswith("3.1")
        assert served["paths"].keys() == api_description()["paths"].keys()
        refused(await visitor.get("/openapi.json"), 401, "unauthenticated")
