"""What is known of quotas on a machine without them; `make soak` has a machine with."""

from pathlib import Path

import pytest

from corral.engines.local.files import quotas
from corral.engines.local.files.quotas import FIRST_PROJECT, HOMES, WORKSPACES, Bounds, DiskQuotas, Quotas
from corral.engines.local.records import durable_json
from corral.engines.local.supervise import verdict
from corral.engines.local.supervise.verdict import Facts
from tests.engines.local.places import local_place


async def test_node_says_how_disk_limits_are_kept() -> None:
    async with local_place() as local:
        facts = (await local.engine.inventory()).facts["here"]
        assert facts.disk_limits == "by looking: the file system has no quotas that Corral can set"


def test_words_tell_what_the_kernel_keeps_and_what_not() -> None:
    assert "by looking" not in Quotas(projects=True, people=True).in_words
    assert "sums of people by looking" in Quotas(projects=True).in_words
    assert "the rest by looking" in Quotas(people=True).in_words


def test_end_at_a_limit_of_the_kernels_names_the_limit() -> None:
    full = "its disk limit of 20 MiB was reached"
    assert verdict.judge(Facts(exit_code=1, at_bound=full)) == ("failed", f"exit code 1; {full}")
    # Who copes with it has succeeded: nothing was written that may not be there.
    assert verdict.judge(Facts(exit_code=0, at_bound=full)) == ("succeeded", "")


class TestFences:
    @pytest.fixture
    def bounded(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int, Bounds]]:
        """What the kernel would have been asked for."""
        asked: list[tuple[int, int, Bounds]] = []
        monkeypatch.setattr(quotas, "find_quotas", lambda _: Quotas(projects=True, people=True))
        monkeypatch.setattr(quotas, "_enclose", lambda *_: None)
        monkeypatch.setattr(
            quotas, "_bound", lambda _, kind, number, bounds: asked.append((kind, number, bounds))
        )
        return asked

    def test_project_is_given_once_also_when_its_directory_is_gone(
        self, tmp_path: Path, bounded: list[tuple[int, int, Bounds]]
    ) -> None:
        disk_quotas = DiskQuotas(tmp_path)
        disk_quotas.enclose(0, WORKSPACES, "a", Bounds(10, 5))
        disk_quotas.enclose(0, HOMES, "a", Bounds(20, 0))
        disk_quotas.bound(WORKSPACES, "a", Bounds(30, 5))
        disk_quotas.forget(WORKSPACES, "a")
        disk_quotas.bound(WORKSPACES, "a", Bounds(40, 5))  # nothing is known of it any more
        DiskQuotas(tmp_path).enclose(0, WORKSPACES, "a", Bounds(50, 5))
        assert [(number - FIRST_PROJECT, bounds.mib) for _, number, bounds in bounded] == [
            (0, 10),
            (1, 20),
            (0, 30),
            (0, 0),
            (2, 50),
        ]

    def test_lost_count_of_projects_goes_on_after_those_of_files(
        self, tmp_path: Path, bounded: list[tuple[int, int, Bounds]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / WORKSPACES / "old").mkdir(parents=True)
        monkeypatch.setattr(quotas, "_project_of", lambda _: FIRST_PROJECT + 41)
        durable_json.replace(tmp_path, "projects.json", {"last": "damaged"})
        DiskQuotas(tmp_path).enclose(0, WORKSPACES, "new", Bounds(10, 0))
        assert bounded[0][1] == FIRST_PROJECT + 42
