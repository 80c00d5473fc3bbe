"""Working directories are uploaded by their owner, kept by content, and go when no work has them."""

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from corral.api.parts import part
from corral.core.bounds import PersonBounds
from corral.core.refusals import Malformed
from corral.engines.archives.asking import check
from corral.engines.archives.limits import Archive, Contents, Form, Limits
from corral.engines.contents import Content, ContentMissing
from corral.inputs import upload_files, uploads
from corral.inputs.context import Inputs
from corral.inputs.tables import upload
from corral.inputs.upload_files import UploadFiles
from corral.inputs.uploads import forget_unused, known_contents
from corral.server.settings import Settings
from tests.apps import ApiClient
from tests.campus import Campus, made, refused
from tests.control.ground import Ground
from tests.engines.archives.tars import entry, link, polyglot, tar_of

SMALL = tar_of(entry("train.py", b"print('hello')\n"))


TAR, GZIP = "application/x-tar", "application/gzip"


async def send(client: ApiClient, content: Any = SMALL, declared: str = TAR) -> Any:
    return await client.request("POST", "/uploads", content=content, headers={"Content-Type": declared})


def files_of(settings: Settings) -> list[str]:
    return sorted(one.name for one in (settings.home / "uploads").iterdir() if one.name != ".lock")


async def test_same_content_is_the_same_upload_and_one_file(campus: Campus, settings: Settings) -> None:
    first = made(await send(campus.admin))
    assert first["sha256"] == hashlib.sha256(SMALL).hexdigest()
    assert (first["entries"], first["unpacked_bytes"], first["size_bytes"]) == (1, 15, len(SMALL))
    assert made(await send(campus.admin)) == first
    await campus.person("ana")
    ana = await campus.sign_in("ana")
    other = made(await send(ana))
    assert other["id"] != first["id"]
    assert files_of(settings) == [first["sha256"]]
    assert (settings.home / "uploads").stat().st_mode & 0o777 == 0o700
    entries = await campus.audit(action="upload.create")
    assert {one["after"]["upload"] for one in entries} == {first["id"], other["id"]}


async def test_uploads_are_their_owners_own(campus: Campus) -> None:
    mine = made(await send(campus.admin))
    await campus.person("ana")
    ana = await campus.sign_in("ana")
    assert made(await ana.get("/uploads"))["items"] == []
    assert made(await ana.get("/uploads", params={"sha256": mine["sha256"]}))["items"] == []
    refused(await ana.delete(f"/uploads/{mine['id']}"), 404)
    work = {"name": "x", "command": ["true"], "resources": {"cpu_milli": 1, "memory_mib": 1}}
    for path in ("/training", "/training/preview"):
        refused(await ana.post(path, work | {"upload_id": mine["id"]}), 422, "invalid", "body.upload_id")
    found = made(await campus.admin.get("/uploads", params={"sha256": mine["sha256"]}))["items"]
    assert [one["id"] for one in found] == [mine["id"]]


async def test_harmful_archive_is_refused_and_leaves_nothing(campus: Campus, settings: Settings) -> None:
    refused(await send(campus.admin, tar_of(link("a", "/etc/shadow"))), 422, "invalid", "body")
    refused(await send(campus.admin, b""), 400, "malformed")
    assert files_of(settings) == []


async def test_upload_has_a_bound_of_its_own(campus: Campus, settings: Settings) -> None:
    larger_than_other_requests = tar_of(entry("data", os.urandom(3 * 1024 * 1024)))
    made(await send(campus.admin, larger_than_other_requests))

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(1024 * 1024)

    part(campus.app, Inputs).uploads.most_bytes = 5 * 1024 * 1024
    refused(await send(campus.admin, endless()), 413, "too-large")
    headers = {"Content-Length": str(10**10), "Content-Type": TAR}
    answer = await campus.admin.request("POST", "/uploads", content=b"x", headers=headers)
    refused(answer, 413, "too-large")
    assert len(files_of(settings)) == 1


async def test_only_what_was_declared_is_taken(campus: Campus, settings: Settings) -> None:
    packed = tar_of(entry("train.py", b"print('hello')\n"), packed=True)
    assert made(await send(campus.admin, packed, GZIP))["entries"] == 1
    problem = refused(await send(campus.admin, packed, TAR), 422, "invalid", "body")
    assert "application/gzip" in problem["remedy"]
    refused(await send(campus.admin, SMALL, GZIP), 422, "invalid", "body")
    for declared in ("", "application/x-xz", "application/octet-stream", "application/json"):
        problem = refused(await send(campus.admin, SMALL, declared), 415, "unknown-type")
        assert "application/x-tar" in problem["remedy"]
    assert len(files_of(settings)) == 1


async def test_archive_that_is_another_one_for_other_readers_is_refused(campus: Campus) -> None:
    hidden = tar_of(entry("a", bytes(64 * 1024 - 1024)), entry("evil.py", b"evil"))
    both = polyglot(tar_of(entry("shown.txt", b"harmless")), hidden)
    refused(await send(campus.admin, both), 422, "invalid", "body")


async def test_upload_from_before_types_were_declared_keeps_its_form(
    ground: Ground, settings: Settings
) -> None:
    admin, database = await ground.campus.token(ground.campus.admin), ground.campus.database
    packed = tar_of(entry("train.py", b"print('hello')\n"), packed=True)
    for content, declared, form in ((SMALL, TAR, Form.TAR), (packed, GZIP, Form.GZIP)):
        sent = made(await send(admin, content, declared))
        await database.write(lambda transaction: transaction.run(update(upload).values(form=None)))
        found = await database.read(uploads.content_of, sent["id"])
        place = settings.home / "uploads" / sent["sha256"]
        assert part(ground.campus.app, Inputs).uploads.find(found) == Archive(place, form)


async def test_bombs_of_one_person_do_not_hold_up_others(campus: Campus) -> None:
    """Six of them filled all threads: nobody could upload or start anything."""
    await campus.person("ana")
    ana = await campus.sign_in("ana")
    bomb = tar_of(entry("zeros", bytes(300 * 1024**2)), packed=True)
    bombs = [asyncio.ensure_future(send(campus.admin, bomb, GZIP)) for _ in range(6)]
    answers = await asyncio.gather(*bombs)
    assert sorted(answer.status_code for answer in answers) == [422, 422, 429, 429, 429, 429]
    problem = refused(next(one for one in answers if one.status_code == 429), 429, "too-many-open")
    assert "2 uploads" in problem["detail"]
    assert "100 times" in next(one for one in answers if one.status_code == 422).json()["detail"]
    made(await send(ana))
    made(await send(campus.admin))


async def test_checks_wait_for_each_other_and_take_no_thread_of_others(
    campus: Campus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a check takes, the threads that everything else needs are free."""
    go_on, begun = threading.Event(), threading.Semaphore(0)

    def slow(archive: Archive, limits: Limits) -> Contents:
        assert threading.current_thread().name.startswith("upload")
        begun.release()
        assert go_on.wait(60)
        return check(archive, limits)

    monkeypatch.setattr(upload_files, "check", slow)
    people = [campus.admin]
    for name in ("ana", "ben", "cem"):
        await campus.person(name)
        people.append(await campus.sign_in(name))
    sending = [asyncio.ensure_future(send(one)) for one in people for _ in range(2)]
    for _ in range(2):
        await asyncio.to_thread(begun.acquire, timeout=60)
    usual = asyncio.get_running_loop()
    await asyncio.gather(*(usual.run_in_executor(None, int) for _ in range(64)))
    assert not begun.acquire(blocking=False), "more than two are checked at a time"
    go_on.set()
    assert [answer.status_code for answer in await asyncio.gather(*sending)] == [201] * 8


async def test_silent_sender_is_not_waited_for(campus: Campus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload_files, "_SILENCE_SECONDS", 0.05)

    async def silent() -> AsyncIterator[bytes]:
        yield b"x"
        await asyncio.Event().wait()
        yield b"never"

    files = part(campus.app, Inputs).uploads
    with pytest.raises(Malformed, match="Nothing of the upload came"):
        await files.receive("someone", Form.TAR, silent())


async def test_person_keeps_so_many_and_so_much(campus: Campus, monkeypatch: pytest.MonkeyPatch) -> None:
    made(await send(campus.admin))
    campus.database.bounds = PersonBounds(uploads=1)
    problem = refused(await send(campus.admin, tar_of(entry("b"))), 409)
    assert "Delete work" in problem["remedy"]
    campus.database.bounds = PersonBounds()
    monkeypatch.setattr(uploads, "MOST_AT_THE_BOUND", 0)
    refused(await send(campus.admin, tar_of(entry("b"))), 409)
    monkeypatch.undo()
    made(await send(campus.admin, tar_of(entry("b"))))


async def test_stranger_sends_nothing(visitor: ApiClient, settings: Settings) -> None:
    refused(await send(visitor), 401)
    assert not (settings.home / "uploads").exists()


async def test_work_is_given_its_upload_and_keeps_it_until_it_is_deleted(ground: Ground) -> None:
    admin, database = await ground.campus.token(ground.campus.admin), ground.campus.database
    sent = made(await send(admin))
    work = await ground.submit(admin, "with", upload_id=sent["id"])
    await ground.settle()
    (task,) = [start.task for start in ground.started]
    assert task is not None
    assert task.upload == Content(sent["sha256"], sent["size_bytes"], Form.TAR)
    files = part(ground.campus.app, Inputs).uploads
    assert files.find(task.upload).path.read_bytes() == SMALL

    ground.campus.clock.advance(hours=30)
    await database.write(forget_unused, 100)
    refused(await admin.delete(f"/uploads/{sent['id']}"), 409)
    made(await admin.post(f"/workloads/{work}/stop"))
    await ground.pass_time(10)
    made(await admin.post(f"/workloads/{work}/delete"))
    await database.write(forget_unused, 100)
    assert made(await admin.get("/uploads"))["items"] == []


async def test_upload_that_no_work_has_is_kept_for_a_day_after_its_last_use(campus: Campus) -> None:
    owner = await campus.token(campus.admin)  # outlives a session
    made(await send(owner))
    campus.clock.advance(hours=23)
    made(await send(owner))
    campus.clock.advance(hours=23)
    await campus.database.write(forget_unused, 100)
    assert len(made(await owner.get("/uploads"))["items"]) == 1
    campus.clock.advance(hours=2)
    await campus.database.write(forget_unused, 100)
    assert made(await owner.get("/uploads"))["items"] == []


async def test_content_that_is_about_to_go_or_lost_its_file_is_sent_again(campus: Campus) -> None:
    owner = await campus.token(campus.admin)
    files = part(campus.app, Inputs).uploads
    sent = made(await send(owner))

    async def known() -> list[str]:
        found = made(await owner.get("/uploads", params={"sha256": sent["sha256"]}))["items"]
        return [one["id"] for one in found]

    assert await known() == [sent["id"]]
    campus.clock.advance(hours=13)
    assert await known() == []
    assert made(await send(owner))["id"] == sent["id"]
    assert await known() == [sent["id"]]
    files.path(sent["sha256"]).unlink()
    assert await known() == []


async def test_files_are_swept_when_no_row_speaks_of_them(campus: Campus, settings: Settings) -> None:
    files = part(campus.app, Inputs).uploads
    kept = made(await send(campus.admin))["sha256"]
    gone = made(await send(campus.admin, tar_of(entry("b"))))
    young = made(await send(campus.admin, tar_of(entry("c"))))
    for one in (gone, young):
        made(await campus.admin.delete(f"/uploads/{one['id']}"))
    long_ago = time.time() - 7200
    left = settings.home / "uploads" / ".new-interrupted"
    left.write_bytes(b"half")
    arriving = settings.home / "uploads" / ".new-arriving"
    arriving.write_bytes(b"a piece")
    ten_minutes_ago = time.time() - 600
    os.utime(arriving, (ten_minutes_ago, ten_minutes_ago))
    for path in (left, files.path(kept), files.path(gone["sha256"])):
        os.utime(path, (long_ago, long_ago))

    assert files.sweep(await campus.database.read(known_contents), 100) == 2
    assert files_of(settings) == sorted([arriving.name, kept, young["sha256"]])
    assert UploadFiles(Path("/nonexistent/uploads"), 1).sweep((), 100) == 0


def test_content_that_is_gone_or_cut_off_is_missing_in_words(tmp_path: Path) -> None:
    files, sha256 = UploadFiles(tmp_path, 1), "a" * 64
    with pytest.raises(ContentMissing, match="no longer kept"):
        files.find(Content(sha256, 10, Form.TAR))
    (tmp_path / sha256).write_bytes(b"12345")
    with pytest.raises(ContentMissing, match="5 of 10 bytes"):
        files.find(Content(sha256, 10, Form.TAR))
    assert files.find(Content(sha256, 5, Form.TAR)) == Archive(tmp_path / sha256, Form.TAR)


def test_what_is_no_file_of_corral_does_not_stop_the_sweep(tmp_path: Path) -> None:
    """A directory, a pipe and a link that leads nowhere: an administrator's, they are left alone."""
    files = UploadFiles(tmp_path, 1)
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("a", os.fsdecode(b"\xff"), "z"):
        (tmp_path / name).touch()
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0), follow_symlinks=False)
    assert files.sweep((), 100) == 3
    assert {path.name for path in tmp_path.iterdir()} == {".lock", "directory", "link", "pipe"}
