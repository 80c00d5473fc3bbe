"""Trees that hostile users build, and change while Corral looks at them."""

import errno
import multiprocessing
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from corral.engines.local.files import user_files
from corral.engines.local.files.user_files import NotAFile, TreeMoved, opened_directory
from corral.engines.local.kernel import syscalls

DEEP = 3000
LONG_NAME = "d" * 200
ROUNDS = 300


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A user's directory; `beside/secret` is what must not be reached from it."""
    (tmp_path / "beside").mkdir()
    (tmp_path / "beside" / "secret").write_text("secret")
    made = tmp_path / "tree"
    made.mkdir()
    return made


@pytest.fixture
def root(tree: Path) -> Iterator[int]:
    with opened_directory(tree) as descriptor:
        yield descriptor


def dig(directory: int, depth: int, name: str = LONG_NAME) -> None:
    """Nested directories whose path is far longer than a path may be."""
    current = os.dup(directory)
    for _ in range(depth):
        os.mkdir(name, dir_fd=current)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=current)
        os.close(current)
        current = below
    os.close(os.open("at the end", os.O_CREAT | os.O_WRONLY, dir_fd=current))
    os.close(current)


def descriptors() -> int:
    return len(names("/proc/self/fd"))


def names(path: Path | str) -> list[str]:
    return [below.name for below in Path(path).iterdir()]


@contextmanager
def attacker(act: Callable[[], None]) -> Iterator[None]:
    """Another process that does this over and over."""

    def loop() -> None:
        while True:
            try:
                act()
            except OSError:
                continue

    process = multiprocessing.get_context("fork").Process(target=loop, daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def read(directory: int, path: str) -> bytes:
    with os.fdopen(user_files.open_file(directory, path), "rb") as file:
        return file.read(100)


class TestOpening:
    def test_what_is_below_is_opened(self, tree: Path, root: int) -> None:
        (tree / "a").mkdir()
        (tree / "a" / "file").write_text("words")
        assert read(root, "a/file") == b"words"
        assert user_files.is_directory(root, "a")
        assert not user_files.is_directory(root, "a/file")
        assert user_files.status(root, "a/none") is None
        assert user_files.status(root, "a/file/none") is None

    @pytest.mark.parametrize("path", ["out/secret", "here/../../beside/secret", "../beside/secret", "link"])
    def test_no_way_leads_out(self, tree: Path, root: int, path: str) -> None:
        (tree / "here").mkdir()
        (tree / "out").symlink_to(tree.parent / "beside")
        (tree / "link").symlink_to("../beside/secret")
        assert (tree / path).read_text() == "secret"
        with pytest.raises(OSError, match=f"{errno.ELOOP}|{errno.EXDEV}|regular"):
            read(root, path)

    def test_absolute_path_is_refused(self, tree: Path, root: int) -> None:
        with pytest.raises(OSError, match=str(errno.EXDEV)):
            read(root, str(tree.parent / "beside" / "secret"))

    def test_process_files_that_lead_anywhere_are_not_followed(self) -> None:
        with opened_directory(f"/proc/{os.getpid()}") as own, pytest.raises(OSError, match=str(errno.ELOOP)):
            user_files.open_below(own, "root/etc", os.O_RDONLY)

    def test_status_of_a_link_is_its_own(self, tree: Path, root: int) -> None:
        (tree / "link").symlink_to("/etc/passwd")
        found = user_files.status(root, "link")
        assert found is not None
        assert stat.S_ISLNK(found.st_mode)
        (tree / "out").symlink_to("/etc")
        with pytest.raises(OSError, match=str(errno.ELOOP)):
            user_files.status(root, "out/passwd")

    def test_zero_byte_is_an_error_of_the_file_system(self, root: int) -> None:
        with pytest.raises(OSError, match="zero byte"):
            user_files.status(root, "a\0b")

    def test_kernel_that_lacks_the_call_is_named(self, root: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(syscalls, "_OPENAT2_NUMBER", 4999)
        with pytest.raises(OSError, match=r"Linux 5\.6"):
            user_files.status(root, "a")

    def test_directory_exchanged_for_a_link_in_a_loop_never_leads_out(self, tree: Path, root: int) -> None:
        (tree / "at").mkdir()
        (tree / "at" / "secret").write_text("own")
        (tree / "link").symlink_to(tree.parent / "beside")

        def swap() -> None:
            (tree / "at").rename(tree / "kept")
            (tree / "link").rename(tree / "at")
            (tree / "at").rename(tree / "link")
            (tree / "kept").rename(tree / "at")

        found: set[bytes | int | None] = set()
        until = time.monotonic() + 20
        with attacker(swap):
            # Until the attacker was seen at work: the link is not a file.
            while not {b"own", errno.EINVAL} <= found:
                try:
                    found.add(read(root, "at/secret"))
                except OSError as error:
                    found.add(error.errno)
                assert b"secret" not in found
                assert time.monotonic() < until, found


class TestOddFiles:
    def test_only_regular_files_are_read_and_nothing_waits(self, tree: Path, root: int) -> None:
        os.mkfifo(tree / "pipe")
        with socket.socket(socket.AF_UNIX) as listening:
            os.chdir(tree)  # a socket's path is short
            listening.bind("socket")
            (tree / "directory").mkdir()
            (tree / "link").symlink_to("file")
            (tree / "file").write_text("words")
            for name in ("pipe", "socket", "directory", "link"):
                with pytest.raises(NotAFile):
                    read(root, name)

    def test_names_are_bytes(self, tree: Path, root: int) -> None:
        name = os.fsdecode(b"\xff\xfe name")
        (tree / name).write_text("words")
        assert read(root, name) == b"words"
        assert [entry.name for entry in user_files.walk(root)] == [name]


class TestWalking:
    def test_everything_is_seen_once(self, tree: Path, root: int) -> None:
        (tree / "a" / "b").mkdir(parents=True)
        (tree / "a" / "b" / "file").touch()
        (tree / "c").mkdir()
        (tree / "c" / "link").symlink_to("/etc")
        os.mkfifo(tree / "c" / "pipe")
        seen = {
            (entry.name, entry.depth, entry.is_directory, entry.is_link) for entry in user_files.walk(root)
        }
        assert seen == {
            ("a", 0, True, False),
            ("b", 1, True, False),
            ("c", 0, True, False),
            ("file", 2, False, False),
            ("link", 1, False, True),
            ("pipe", 1, False, False),
        }

    def test_depth_and_length_do_not_matter(self, root: int) -> None:
        dig(root, DEEP)
        before = descriptors()
        seen = [(entry.name, entry.depth, descriptors()) for entry in user_files.walk(root)]
        assert len(seen) == DEEP + 1
        assert seen[-1][:2] == ("at the end", DEEP)
        assert max(opened for _, _, opened in seen) < before + 5
        assert descriptors() == before
        user_files.remove(root, LONG_NAME)

    def test_walk_that_is_left_early_leaves_nothing_open(self, root: int) -> None:
        dig(root, 10)
        before = descriptors()
        walking = user_files.walk(root)
        for _ in range(5):
            next(walking)
        walking.close()  # type: ignore[attr-defined]
        assert descriptors() == before

    def test_no_more_is_seen_than_was_asked_for(self, tree: Path, root: int) -> None:
        for number in range(10):
            (tree / str(number)).touch()
        assert len(list(user_files.walk(root, 10))) == 10
        with pytest.raises(OSError, match="too much"):
            list(user_files.walk(root, 9))

    def test_directory_that_moved_out_is_noticed(self, tree: Path, root: int) -> None:
        (tree / "a" / "b").mkdir(parents=True)
        (tree / "a" / "b" / "inside").touch()
        walking = user_files.walk(root)
        assert [next(walking).name for _ in range(3)] == ["a", "b", "inside"]
        (tree / "a" / "b").rename(tree.parent / "beside" / "b")
        with pytest.raises(TreeMoved):  # the way back would lead beside
            next(walking)

    @pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
    def test_closed_directories_are_left_out_or_opened_up(self, tree: Path, root: int) -> None:
        for name, mode in (("none", 0), ("listed", 0o400), ("searched", 0o100)):
            (tree / name).mkdir()
            (tree / name / f"in {name}").touch()
            (tree / name).chmod(mode)
        names = {"none", "listed", "searched"}
        assert {entry.name for entry in user_files.walk(root)} == names
        opened = {entry.name for entry in user_files.walk(root, open_up=True)}
        assert opened == names | {f"in {name}" for name in names}

    def test_swapped_directories_never_lead_out(self, tree: Path, root: int) -> None:
        for number in range(20):
            (tree / f"d{number}" / "deep").mkdir(parents=True)
        (tree / "link").symlink_to(tree.parent / "beside")

        def swap() -> None:
            for number in range(20):
                place = tree / f"d{number}"
                place.rename(tree.parent / "beside" / "moved")
                (tree / "link").rename(place)
                place.rename(tree / "link")
                (tree.parent / "beside" / "moved").rename(place)

        with attacker(swap):
            for _ in range(ROUNDS):
                try:
                    assert "secret" not in {entry.name for entry in user_files.walk(root)}
                except TreeMoved:
                    continue


class TestRemoving:
    def test_tree_goes_and_what_its_links_point_at_stays(self, tree: Path, root: int) -> None:
        beside = tree.parent / "beside"
        user = tree / "user"
        (user / "a" / "b").mkdir(parents=True)
        (user / "a" / "to directory").symlink_to(beside)
        (user / "a" / "to file").symlink_to(beside / "secret")
        (user / "hard").hardlink_to(beside / "secret")
        os.mkfifo(user / "pipe")
        (user / os.fsdecode(b"\xff")).touch()
        assert user_files.remove(root, "user")
        assert not user_files.remove(root, "user")
        assert (beside / "secret").read_text() == "secret"
        assert names(tree) == [user_files.REMOVING]
        assert names(tree / user_files.REMOVING) == []

    def test_link_in_place_of_the_tree_goes_alone(self, tree: Path, root: int) -> None:
        (tree / "user").symlink_to(tree.parent / "beside")
        assert user_files.remove(root, "user")
        assert not (tree / "user").is_symlink()
        assert (tree.parent / "beside" / "secret").exists()

    def test_thousands_of_nested_directories_go(self, root: int) -> None:
        dig(root, DEEP)
        before = descriptors()
        assert user_files.remove(root, LONG_NAME)
        assert descriptors() == before

    def test_wide_tree_goes(self, tree: Path, root: int) -> None:
        for number in range(300):
            (tree / "user" / str(number) / "below").mkdir(parents=True)
            (tree / "user" / str(number) / "file").touch()
        assert user_files.remove(root, "user")
        assert names(tree / user_files.REMOVING) == []

    def test_directories_that_their_owner_closed_go(self, tree: Path, root: int) -> None:
        (tree / "user" / "closed" / "also").mkdir(parents=True)
        (tree / "user" / "closed" / "also" / "file").touch()
        for path in (tree / "user" / "closed" / "also", tree / "user" / "closed", tree / "user"):
            path.chmod(0)
        assert user_files.remove(root, "user")
        assert names(tree / user_files.REMOVING) == []

    def test_interrupted_removal_is_finished(self, tree: Path) -> None:
        assert user_files.tidy_up(tree) == []
        (tree / user_files.REMOVING / "abc~0" / "deep").mkdir(parents=True)
        (tree / user_files.REMOVING / "abc~1").touch()
        assert user_files.tidy_up(tree) == []
        assert names(tree / user_files.REMOVING) == []

    def test_what_cannot_be_removed_is_told_of_and_tried_again(
        self, tree: Path, root: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One such directory must not keep Corral from starting, nor be taken for gone."""
        for name in ("other", "stuck"):
            (tree / name / "below").mkdir(parents=True)

        def rmdir(name: str, *, dir_fd: int) -> None:
            if name.startswith("stuck"):
                raise OSError(errno.EIO, "the disk is broken")
            real(name, dir_fd=dir_fd)

        real = os.rmdir
        monkeypatch.setattr(os, "rmdir", rmdir)
        for _ in range(2):
            with pytest.raises(OSError, match="broken"):
                user_files.remove(root, "stuck")
        (tree / "other").rename(tree / user_files.REMOVING / "other~0")
        assert user_files.tidy_up(tree) == ["tree: stuck cannot be removed: the disk is broken"]
        assert {name.partition("~")[0] for name in names(tree / user_files.REMOVING)} == {"stuck"}
        monkeypatch.undo()
        assert user_files.remove(root, "stuck")
        assert names(tree / user_files.REMOVING) == []

    def test_what_has_the_name_of_something_removed_before_stays(self, tree: Path) -> None:
        """A workspace that came after an interrupted removal of the same name."""
        user_files.tidy_up(tree)
        (tree / user_files.REMOVING / "build~0" / "deep").mkdir(parents=True)
        (tree / "build" / "new").mkdir(parents=True)
        assert user_files.tidy_up(tree) == []
        assert (tree / "build" / "new").is_dir()
        assert names(tree / user_files.REMOVING) == []

    def test_full_disk_keeps_nobody_from_starting(self, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def mkdir(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "mkdir", mkdir)
        assert user_files.tidy_up(tree) == ["tree: it cannot be tidied up: No space left on device"]

    def test_what_never_got_its_name_goes(self, tree: Path, root: int) -> None:
        (tree / user_files.make_fresh(root) / "below").mkdir()
        assert user_files.tidy_up(tree) == []
        assert names(tree) == [user_files.REMOVING]

    def test_who_swaps_and_fills_while_it_is_removed_loses_only_what_is_theirs(
        self, tree: Path, root: int
    ) -> None:
        beside = tree.parent / "beside"
        (beside / "below").mkdir()
        (beside / "below" / "kept").touch()
        for _ in range(20):
            user = tree / "user"
            for number in range(10):
                (user / f"d{number}" / "below").mkdir(parents=True)
            inside = os.open(user, os.O_RDONLY | os.O_DIRECTORY)

            def swap(inside: int = inside) -> None:
                for number in range(10):
                    name = f"d{number}"
                    os.rename(name, "kept", src_dir_fd=inside, dst_dir_fd=inside)
                    os.symlink(beside, name, dir_fd=inside)
                    os.unlink(name, dir_fd=inside)
                    os.rename("kept", name, src_dir_fd=inside, dst_dir_fd=inside)

            with attacker(swap):
                try:
                    user_files.remove(root, "user")
                except OSError as error:
                    if error.errno != errno.ENOTEMPTY:
                        raise
            os.close(inside)
            user_files.tidy_up(tree)
            assert (beside / "secret").read_text() == "secret"
            assert (beside / "below" / "kept").exists()
        assert names(tree / user_files.REMOVING) == []


class TestMaking:
    def test_made_directory_has_its_mode_whatever_the_umask(self, root: int) -> None:
        before = os.umask(0o077)
        try:
            made = user_files.make_directory(root, "made", 0o755)
        finally:
            os.umask(before)
        assert stat.S_IMODE(os.fstat(made).st_mode) == 0o755
        os.close(made)
        with pytest.raises(FileExistsError):
            user_files.make_directory(root, "made")
