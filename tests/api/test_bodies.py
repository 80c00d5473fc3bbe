"""Bodies that would fill the stack, or hold numbers that nobody can store, are refused in words."""

import json
from typing import Any

import pytest

from corral.core.json_text import BadJson, read_json
from tests.apps import ApiClient
from tests.campus import refused

WORK = '{"name": "x", "command": ["true"], "resources": {"cpu": 1, "memory": "1Gi"}, "parameters": {"a": %s}}'


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param("[" * 100_000, "nested more than 32", id="brackets"),
        pytest.param('{"a":' * 100_000, "nested more than 32", id="objects"),
        pytest.param(WORK % ("[" * 100 + "]" * 100), "nested more than 32", id="well-formed"),
        pytest.param(WORK % ("9" * 5000), "number that is too long", id="digits"),
        pytest.param(WORK % "1e999", "too large", id="too large"),
        pytest.param(WORK % "NaN", "not a JSON number", id="not a number"),
        pytest.param(WORK % "-Infinity", "not a JSON number", id="infinite"),
        pytest.param(
            json.dumps({f"f{number}": 1 for number in range(150_000)}), "more than 5000 members", id="members"
        ),
        pytest.param("{", "not valid JSON", id="cut off"),
        pytest.param(b'{"a": "\xff"}', "not UTF-8", id="no text"),
    ],
)
async def test_body_is_read_with_bounds(admin: ApiClient, body: Any, words: str) -> None:
    headers = {"Content-Type": "application/json"}
    for path in ("/training", "/organisations"):
        problem = refused(await admin.request("POST", path, content=body, headers=headers), 422, "invalid")
        assert problem["errors"][0]["field"] == "body"
        assert words in problem["errors"][0]["message"]


def test_brackets_in_texts_are_no_levels() -> None:
    assert read_json('{"a": "%s"}' % ("[" * 1000)) == {"a": "[" * 1000}
    assert read_json("[" * 32 + "]" * 32) is not None
    with pytest.raises(BadJson):
        read_json("[" * 33 + "]" * 33)
