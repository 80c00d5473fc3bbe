"""Nothing that people name can hold characters that are not seen or that change how others are shown."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from corral.api.models import STORED, Input
from corral.core.text import hidden_character
from corral.identity.rules import read_people
from corral.server.app import describe_only
from corral.training.spec import TrainingSpec
from corral.zones.models import Labels, Topologies

HIDDEN = {
    "right-to-left override": "\u202e",
    "isolate": "\u2066",
    "zero-width space": "\u200b",
    "zero-width joiner": "\u200d",
    "word joiner": "\u2060",
    "byte order mark": "\ufeff",
    "soft hyphen": "\u00ad",
    "tag": "\U000e0041",
    "variation selector": "\ufe0f",
    "far variation selector": "\U000e0100",
    "grapheme joiner": "\u034f",
    "Hangul filler": "\u3164",
    "Braille blank": "\u2800",
    "line separator": "\u2028",
    "newline": "\n",
    "escape": "\x1b",
    "NUL": "\x00",
    "C1 control": "\x9b",
}
# Fields by which people know a thing, or that say something about it; not what is only looked for.
NAMING = {"name", "display_name", "title", "description", "mail"}
NOT_KEPT = {("SignIn", "name"), ("MetricsQuery", "name"), ("PoolTopology", "name")}


def naming_fields() -> Iterator[tuple[type[BaseModel], str]]:
    describe_only()
    pending, seen = [Input], set()
    while pending:
        model = pending.pop()
        pending += model.__subclasses__()
        for field in NAMING & model.model_fields.keys():
            if (model.__name__, field) not in NOT_KEPT and (model, field) not in seen:
                seen.add((model, field))
                yield model, field


FIELDS = sorted(naming_fields(), key=lambda one: (one[0].__name__, one[1]))


def errors_of(model: type[BaseModel], field: str, value: str) -> list[Any]:
    try:
        model.model_validate({field: value})
    except ValidationError as error:
        return [one for one in error.errors() if one["loc"][:1] == (field,)]
    return []


def test_the_fields_that_name_things_are_found() -> None:
    names = {model.__name__ for model, _ in FIELDS}
    assert {"NewUser", "NewRole", "NewToken", "NewSshKey", "NewPool", "NewFlavor", "TrainingSpec"} <= names
    assert {"NewOrganisation", "NewRuntime", "SignUp", "AcceptInvitation", "Join"} <= names


@pytest.mark.parametrize(("model", "field"), FIELDS, ids=[f"{one.__name__}.{name}" for one, name in FIELDS])
def test_hidden_characters_are_refused_wherever_things_are_named(model: type[BaseModel], field: str) -> None:
    good = "mei@example.org" if field == "mail" else "mei2"
    assert not errors_of(model, field, good)
    at = 2
    for what, character in HIDDEN.items():
        assert errors_of(model, field, good[:at] + character + good[at:]), what


def test_names_of_people_everywhere_are_taken() -> None:
    for name in (
        "Mei-Ling Chen",
        "陳美玲",
        "Ñandú",
        "Zoë",
        "محمد",
        "Дмитрий",
        "김민준",
        "Nguyễn Văn A",
        "🚀 lab",
    ):
        assert hidden_character(name) is None, name


@pytest.mark.parametrize("what", HIDDEN)
def test_labels_topologies_and_imports_refuse_them_too(what: str) -> None:
    text = f"ra{HIDDEN[what]}ck"
    with pytest.raises(ValidationError):
        TypeAdapter(Labels).validate_python({text: "1"})
    with pytest.raises(ValidationError):
        TypeAdapter(Topologies).validate_python([{"name": "t", "levels": [text]}])
    if what not in {"newline", "NUL"}:
        (row,) = read_people(f'name,display_name\nmei,"{text}"\n')
        assert row.problems


def test_work_that_was_named_before_the_rule_is_still_read() -> None:
    document = {"name": "old\u200bname", "command": ["true"], "resources": {"cpu_milli": 1, "memory_mib": 1}}
    with pytest.raises(ValidationError):
        TrainingSpec.model_validate(document)
    assert TrainingSpec.model_validate(document, context=STORED).name == "old\u200bname"
