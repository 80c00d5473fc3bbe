"""Who work belongs to, where it runs, and what happens where it cannot be kept apart."""

import io
import os
import pwd
import stat
import tarfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from corral.core.devices import DeviceUse
from corral.engines.archives.limits import Form
from corral.engines.contents import Content
from corral.engines.interface import Ending, Start
from corral.engines.local.files import user_ids
from corral.engines.local.files.user_ids import TooManyUsers, UserIds, UserIdsUnavailable
from corral.engines.local.machine import isolation
from tests.engines.local.places import LocalPlace, local_place

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root has a uid for every person")


@pytest.fixture
async def local() -> AsyncIterator[LocalPlace]:
    async with local_place() as made:
        yield made


def owned_by(start: Start, owner: str, **more: object) -> Start:
    assert start.task is not None
    return replace(start, task=replace(start.task, owner=owner, **more))  # type: ignore[arg-type]


def test_uid_is_given_once_and_never_again(tmp_path: Path) -> None:
    people = UserIds(tmp_path, first_uid=300, most=3)
    assert [people.uid_of(name) for name in ("ada", "ben", "ada")] == [300, 301, 300]
    again = UserIds(tmp_path, first_uid=300, most=3)
    assert [again.uid_of(name) for name in ("ben", "eve")] == [301, 302]
    with pytest.raises(TooManyUsers):
        again.uid_of("mallory")
    assert [UserIds(tmp_path, first_uid=900).uid_of(name) for name in ("eve", "mallory")] == [302, 900]


@AS_ROOT
@pytest.mark.parametrize("kind", ["homes", "workspaces"])
def test_uid_of_files_that_an_older_map_does_not_know_is_given_to_nobody(tmp_path: Path, kind: str) -> None:
    """Somebody restored `people.json` of last week: ben came since, and his files are here."""
    before = UserIds(tmp_path, first_uid=300)
    assert before.uid_of("ada") == 300
    old = (tmp_path / "people.json").read_text()
    (tmp_path / kind / "of-ben").mkdir(parents=True)
    os.chown(tmp_path / kind / "of-ben", before.uid_of("ben"), 301)
    (tmp_path / "people.json").write_text(old)
    assert [UserIds(tmp_path, first_uid=300).uid_of(name) for name in ("ada", "eve")] == [300, 302]


def test_uids_that_the_machine_itself_uses_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of its users, and of those that their containers may become."""
    monkeypatch.setattr(user_ids, "_SUBORDINATE", (tmp_path / "subuid", tmp_path / "subgid"))
    (tmp_path / "subuid").write_text("ada:301:2\n# a comment\nben:303:x\n\nben:300000:65536\n")
    own = {entry.pw_uid for entry in pwd.getpwall()}
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: {304: 1}[uid])
    given = [UserIds(tmp_path, first_uid=300).uid_of(name) for name in ("ada", "ben", "eve")]
    assert own.isdisjoint(given)
    assert given == [300, 303, 305]


@pytest.mark.parametrize(
    "content",
    ["", '{"version":1,"uids":{"ada":300,', "[]", '{"version":1}', '{"version":1,"uids":{"ada":7,"ben":7}}'],
)
def test_damaged_map_of_people_gives_no_uid_until_it_is_restored(tmp_path: Path, content: str) -> None:
    people_file = tmp_path / "people.json"
    assert UserIds(tmp_path, first_uid=300).uid_of("ada") == 300
    whole = people_file.read_text()
    people_file.write_text(content)
    people = UserIds(tmp_path, first_uid=300)
    for owner in ("ada", "ben"):
        with pytest.raises(UserIdsUnavailable, match=r"people\.json"):
            people.uid_of(owner)
    assert "Restore people.json from a backup" in (people.problem() or "")
    assert people_file.read_text() == content
    people_file.write_text(whole)
    assert (people.problem(), people.uid_of("ada"), people.uid_of("ben")) == (None, 300, 301)


def test_missing_map_beside_homes_is_not_begun_anew(tmp_path: Path) -> None:
    mine = os.getuid()
    people = UserIds(tmp_path, first_uid=mine)
    (tmp_path / "homes" / "ada").mkdir(parents=True)
    with pytest.raises(UserIdsUnavailable, match=r"people\.json is missing, and homes has files of people"):
        people.uid_of("ben")
    assert not (tmp_path / "people.json").exists()
    # Of somebody else: made before there was a uid for everyone.
    assert UserIds(tmp_path, first_uid=mine + 400_000).uid_of("ben") == mine + 400_000


@AS_ROOT
async def test_everyone_has_a_uid_and_files_that_nobody_else_reads(local: LocalPlace) -> None:
    look = ("sh", "-c", "id -u; echo mine > /home/user/note; cat /home/user/note")
    for owner in ("ada", "ben"):
        ended = await local.finish(owned_by(local.sized(owner, *look), owner, home=True))
        assert ended.ending is Ending.SUCCEEDED
    outputs = [(await local.output(owner)).split() for owner in ("ada", "ben")]
    assert outputs == [["200000", "mine"], ["200001", "mine"]]
    for kind, uid in (("workspaces", 200000), ("homes", 200000), ("workspaces", 200001)):
        name = "ada" if uid == 200000 else "ben"
        found = (local.directory / "data" / kind / name).stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (uid, 0o700)


async def test_upload_is_unpacked_once_and_belongs_to_its_owner(local: LocalPlace) -> None:
    upload = local.directory / "upload.tar"
    with tarfile.open(upload, "w") as tar:
        info = tarfile.TarInfo("train.py")
        info.size = 15
        tar.addfile(info, io.BytesIO(b"print('trained')"[:15]))
    start = local.sized("a", "sh", "-c", "cat train.py; echo; echo changed > train.py")
    ended = await local.finish(owned_by(start, "ada", upload=local.contents.put(upload, Form.TAR)))
    assert ended.ending is Ending.SUCCEEDED, await local.output("a")
    second = replace(start, run="a-2", attempt=2)
    await local.finish(owned_by(second, "ada", upload=local.contents.put(upload, Form.TAR)))
    assert (await local.output("a-2")).startswith("changed")


async def test_bad_upload_is_refused_in_words(local: LocalPlace) -> None:
    upload = local.directory / "upload.tar"
    with tarfile.open(upload, "w") as tar:
        tar.addfile(tarfile.TarInfo("../evil"))
    ended = await local.finish(
        owned_by(local.sized("a", "true"), "ada", upload=local.contents.put(upload, Form.TAR))
    )
    assert ended.ending is Ending.REFUSED
    assert ended.detail == "its upload was not unpacked: ../evil leads out of the directory."
    # What was unpacked of it has gone.
    assert list((local.directory / "data" / "workspaces").glob("[!.]*")) == []
    assert list((local.directory / "data" / "workspaces").glob(".*/*")) == []


async def test_upload_that_nobody_has_is_refused_and_leaves_nothing(local: LocalPlace) -> None:
    lacking = Content("0" * 64, 10, Form.TAR)
    ended = await local.finish(owned_by(local.sized("a", "true"), "ada", upload=lacking))
    assert (ended.ending, ended.detail) == (Ending.REFUSED, "its upload cannot be had: nobody has it")
    assert list((local.directory / "data" / "workspaces").glob("[!.]*")) == []


async def test_another_attempt_does_not_need_the_upload_again(local: LocalPlace) -> None:
    upload = local.directory / "upload.tar"
    with tarfile.open(upload, "w") as tar:
        tar.addfile(tarfile.TarInfo("there"))
    content = local.contents.put(upload, Form.TAR)
    first = local.sized("a", "ls", "there")
    assert (await local.finish(owned_by(first, "ada", upload=content))).ending is Ending.SUCCEEDED
    (local.contents.directory / content.sha256).unlink()
    ended = await local.finish(owned_by(replace(first, run="a-2", attempt=2), "ada", upload=content))
    assert ended.ending is Ending.SUCCEEDED


async def test_names_that_would_lead_elsewhere_are_refused(local: LocalPlace) -> None:
    ended = await local.finish(owned_by(local.sized("a", "true"), "ada", workspace="../other"))
    assert ended.ending is Ending.REFUSED
    with pytest.raises(ValueError, match="cannot be the name"):
        await local.engine.start([replace(local.sized("a", "true"), run="../b", workload="../b")])


async def test_devices_are_named_to_the_work_and_marked_as_simulated(local: LocalPlace) -> None:
    start = replace(local.sized("a", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES"), devices=(DeviceUse("gpu1"),))
    await local.finish(start)
    assert await local.output("a") == "1\n"
    facts = (await local.engine.inventory()).facts["here"]
    assert [facts.devices[name].simulated for name in ("gpu0", "gpu1")] == [True, True]
    assert facts.disk_mib > 0


def test_work_of_several_people_needs_a_sandbox_and_limits() -> None:
    good = isolation.decide(True, None, (), trusted=False)
    assert (good.mode, good.refusal, good.notes) == ("root", None, ())
    bare = isolation.decide(True, "bwrap is not installed", (), trusted=False)
    assert bare.refusal == "work cannot be kept apart here: bwrap is not installed"
    unlimited = isolation.decide(False, None, ("memory", "cpu"), trusted=False)
    assert unlimited.refusal == "memory, cpu cannot be limited here: no control group can be made"


def test_one_person_may_do_without_and_is_told_so() -> None:
    alone = isolation.decide(False, "bwrap is not installed", ("memory",), trusted=True)
    assert (alone.mode, alone.refusal) == ("none", None)
    assert alone.notes == (
        "no sandbox: bwrap is not installed",
        "no limits on memory: no control group can be made here",
    )


async def test_without_a_sandbox_work_is_refused_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(isolation, "sandbox_problem", lambda: "bwrap is not installed")
    async with local_place(trusted=False) as local:
        ended = await local.finish(local.sized("a", "true"))
    assert ended.ending is Ending.REFUSED
    assert "bwrap is not installed" in ended.detail


async def test_trusted_work_runs_as_plain_processes_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolation, "sandbox_problem", lambda: "bwrap is not installed")
    async with local_place(trusted=True) as local:
        ended = await local.finish(local.sized("a", "sh", "-c", "pwd; (sleep 60 &); exit 4"))
        assert (ended.ending, ended.exit_code) == (Ending.FAILED, 4)
        assert ended.notes[0] == "no sandbox: bwrap is not installed"
        assert (await local.output("a")).strip().endswith("/data/workspaces/a")
        missing = await local.finish(local.sized("b", "no-such-command"))
        assert missing.detail == "cannot find file no-such-command"
