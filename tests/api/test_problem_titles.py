"""The console's catalogues and the API name each problem alike."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import corral.server.app
from corral.core.refusals import Refusal

CATALOGUES = Path(__file__).parents[2] / "web/src/i18n"
# Problems that the console itself finds, and the one that is no refusal.
CONSOLE_ONLY = {"unexpected", "unreachable", "internal"}


def _kinds(base: type[Refusal] = Refusal) -> Iterator[type[Refusal]]:
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _titles() -> dict[str, str]:
    assert corral.server.app.__doc__  # imports every package that refuses
    return {kind.slug: kind.title for kind in _kinds() if kind.__module__.startswith("corral.")}


def _problems(language: str) -> dict[str, dict[str, str]]:
    content: dict[str, dict[str, dict[str, str]]] = json.loads((CATALOGUES / f"{language}.json").read_text())
    return content["problem"]


def test_console_says_the_title_of_a_problem_as_the_api_does() -> None:
    shown = {slug: words["title"].removesuffix(".") for slug, words in _problems("en").items()}
    assert {slug: title for slug, title in shown.items() if slug not in CONSOLE_ONLY} == _titles()


@pytest.mark.parametrize("language", ["en", "zh-TW", "zh-CN"])
def test_console_translates_every_problem(language: str) -> None:
    problems = _problems(language)
    assert set(problems) == set(_titles()) | CONSOLE_ONLY
    assert all(words["title"] and words["text"] for words in problems.values())
