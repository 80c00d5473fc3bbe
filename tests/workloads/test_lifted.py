"""Stored documents of an older version are read as those of today, one step at a time."""

from typing import Any

import pytest

from corral.workloads import spec


@pytest.fixture
def third_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the form had changed twice: `gpus` became `devices`, then `devices` a mapping."""

    def rename(document: dict[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in document.items() if key != "gpus"}
        return kept | {"devices": document["gpus"]}

    def wrap(document: dict[str, Any]) -> dict[str, Any]:
        return document | {"devices": {"count": document["devices"]}}

    monkeypatch.setattr(spec, "VERSION", 3)
    monkeypatch.setattr(spec, "_UPGRADES", {1: rename, 2: wrap})


@pytest.mark.usefixtures("third_version")
@pytest.mark.parametrize(
    ("stored", "version"),
    [
        ({"version": 1, "name": "a", "gpus": 2}, 1),
        ({"version": 2, "name": "a", "devices": 2}, 2),
        ({"version": 3, "name": "a", "devices": {"count": 2}}, 3),
    ],
)
def test_each_older_version_becomes_that_of_today(stored: dict[str, Any], version: int) -> None:
    before = dict(stored)
    assert spec.upgrade(stored, version) == {"version": 3, "name": "a", "devices": {"count": 2}}
    assert stored == before, "what is stored is never rewritten"


def test_every_version_that_was_written_can_be_lifted() -> None:
    assert set(spec._UPGRADES) == set(range(1, spec.VERSION))
