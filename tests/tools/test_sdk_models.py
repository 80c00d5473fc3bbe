"""The SDK's models are written from the API's description."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(TOOLS))
    return importlib.import_module("sdk_models")


def describe(answer: str, **schemas: Any) -> dict[str, Any]:
    responses = {"200": {"schema": {"$ref": f"#/components/schemas/{answer}"}}}
    return {"paths": {"/thing": {"get": {"responses": responses}}}, "components": {"schemas": schemas}}


def plain(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"properties": properties, "required": list(required)}


TEXT = {"type": "string"}


def test_fields_have_the_types_of_the_description(models: ModuleType) -> None:
    thing = plain(
        ("name", "at", "state", "labels", "sizes"),
        name={**TEXT, "description": "What people call it."},
        at={**TEXT, "format": "date-time"},
        state={"$ref": "#/components/schemas/State"},
        labels={"type": "object", "additionalProperties": TEXT},
        sizes={"type": "array", "items": {"type": "integer"}},
        owner={"anyOf": [TEXT, {"type": "null"}]},
        count={"type": "integer", "default": 1},
    )
    text = models.generate(describe("Thing", Thing=thing, State={**TEXT, "enum": ["on", "off"]}))
    for line in (
        'name: str\n    """What people call it."""',
        "at: datetime\n",
        'state: str\n    """One of: `on`, `off`."""',
        "labels: Mapping[str, str]\n",
        "sizes: tuple[int, ...]\n",
        "owner: str | None = None\n",
        "count: int = 1",
    ):
        assert f"    {line}" in text


def test_model_with_all_fields_of_another_extends_it(models: ModuleType) -> None:
    detail = plain(("id", "parts"), id=TEXT, parts={"type": "array", "items": {"$ref": "#/x/Thing"}})
    text = models.generate(describe("ThingDetail", ThingDetail=detail, Thing=plain(("id",), id=TEXT)))
    assert text.index("class Thing:") < text.index("class ThingDetail(Thing):")
    assert text.count("    id: str") == 1


def test_requests_and_envelopes_of_lists_are_no_models(models: ModuleType) -> None:
    page = plain(items={"type": "array", "items": {"$ref": "#/x/Thing"}}, next_cursor=TEXT)
    schemas = {"Page_Thing_": page, "Thing": plain(id=TEXT), "NewThing": plain(id=TEXT)}
    text = models.generate(describe("Page_Thing_", **schemas))
    assert "class Thing:" in text
    assert "Page_Thing_" not in text
    assert "NewThing" not in text


def test_answer_of_several_kinds_is_refused(models: ModuleType) -> None:
    either = plain(value={"anyOf": [TEXT, {"type": "integer"}]})
    with pytest.raises(SystemExit, match="several kinds"):
        models.generate(describe("Thing", Thing=either))
