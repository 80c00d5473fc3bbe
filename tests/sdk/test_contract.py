"""The client's models and the API's description are about the same things."""

import dataclasses
import json
from typing import Any

import pytest
from corral_sdk import Client, models

from tests.live import LiveCorral

# An event is put together from the fields of the stream; it is no schema.
_OWN = {"Event"}
MODELS = sorted(set(models.__all__) - _OWN)


@pytest.fixture(scope="module")
def schemas(live_corral: LiveCorral) -> dict[str, Any]:
    client = Client(live_corral.url, live_corral.local_token)
    document = client._transport.request("GET", "/api/v1/openapi.json").json()
    found: dict[str, Any] = document["components"]["schemas"]
    return found


@pytest.mark.parametrize("name", MODELS)
def test_a_model_has_the_fields_that_the_api_describes(schemas: dict[str, Any], name: str) -> None:
    schema = next(each for key, each in schemas.items() if key in (name, f"{name}-Output"))
    fields = {each.name for each in dataclasses.fields(getattr(models, name))}
    assert fields == set(schema["properties"]), json.dumps(schema, indent=1)


@pytest.mark.parametrize("name", MODELS)
def test_what_may_be_null_may_be_none(schemas: dict[str, Any], name: str) -> None:
    schema = next(each for key, each in schemas.items() if key in (name, f"{name}-Output"))
    nullable = {
        key
        for key, value in schema["properties"].items()
        if {"type": "null"} in value.get("anyOf", []) or value == {} or "null" in (value.get("type") or "")
    }
    optional = {
        each.name
        for each in dataclasses.fields(getattr(models, name))
        if "None" in str(each.type) or str(each.type) == "typing.Any"
    }
    assert nullable <= optional
