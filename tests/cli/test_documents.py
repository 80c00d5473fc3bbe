"""Files with documents: what could fill memory, hide something or never end is refused in words."""

import pytest

from corral.cli.documents import MOST_BYTES, read_document
from corral.cli.refusals import CommandError

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))


def test_yaml_and_json_say_the_same() -> None:
    expected = {"name": "x", "resources": {"cpu": 0.5, "memory": "1Gi", "gpu": "8Gi"}, "command": ["a", "b"]}
    yaml = "name: x\nresources: {cpu: 0.5, memory: 1Gi, gpu: 8Gi}\ncommand:\n  - a\n  - b\n"
    json = '{"name": "x", "resources": {"cpu": 0.5, "memory": "1Gi", "gpu": "8Gi"}, "command": ["a", "b"]}'
    assert read_document("f", yaml) == read_document("f", json) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(LAUGHS, "aliases are not allowed", id="aliases"),
        pytest.param("a: &a [*a]", "aliases are not allowed", id="alias of itself"),
        pytest.param("base: &b {x: 1}\nc:\n  <<: *b\n", "aliases are not allowed", id="merge"),
        pytest.param("c:\n  <<: {x: 1}\n", "a key must be a plain name", id="merge written out"),
        pytest.param("a: 1\nb: 2\na: 3\n", "line 3, column 1: a is given twice", id="twice"),
        pytest.param("a: {b: 1, b: 2}", "b is given twice", id="twice inside"),
        pytest.param('{"a": 1, "a": 2}', "given twice", id="twice in JSON"),
        pytest.param("a: " + "[" * 100_000, "nested more than 32", id="brackets"),
        pytest.param('{"a": ' + "[" * 100_000, "nested more than 32", id="brackets of JSON"),
        pytest.param('{"a": ' + "[" * 40 + "]" * 40 + "}", "nested more than 32", id="deep JSON"),
        pytest.param("a: !!python/object/apply:os.system [id]", "not valid YAML", id="objects"),
        pytest.param("a: " + "9" * 5000, "cannot be read", id="long number"),
        pytest.param('{"a": ' + "9" * 5000 + "}", "cannot be read", id="long number of JSON"),
        pytest.param("a: 2026-99-99", "cannot be read", id="no date"),
        pytest.param("? [a]\n: 1\n", "a key must be a plain name", id="key that is a list"),
        pytest.param("a: b: c", "line 1", id="not valid YAML"),
        pytest.param('{"a"', "not valid JSON", id="no JSON"),
        pytest.param("a: " + "x" * MOST_BYTES, "longer than 1024 KiB", id="long"),
    ],
)
def test_what_is_no_plain_document_is_refused(text: str, words: str) -> None:
    with pytest.raises(CommandError) as refusal:
        read_document("work.yaml", text)
    assert words in str(refusal.value)
    assert refusal.value.remedy
