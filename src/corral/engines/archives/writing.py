"""Makes what an archive holds below an open directory.

Every step goes from one open directory to the next and follows no link, so nothing that an earlier entry made
can lead a later one out, whatever the judgement of the tree was worth.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from corral.engines.archives.limits import BadArchive, Contents
from corral.engines.archives.reader import Entry, Reader
from corral.engines.archives.tree import Kind, shown
from corral.engines.local.files import user_files

_CONTRADICTIONS = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENOENT)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def unpack(reader: Reader, root: int) -> Contents:
    for entry in reader:
        if not entry.parts:
            continue  # the directory itself
        try:
            with _inside(root, entry.parts[:-1]) as parent:
                _make(reader, entry, root, parent)
        except OSError as error:
            name = shown("/".join(entry.parts))
            if error.errno in _CONTRADICTIONS:
                raise BadArchive(f"{name} contradicts another entry.") from error
            if error.errno == errno.ENAMETOOLONG:
                raise BadArchive(f"The name {name} is too long.") from error
            raise
    return reader.contents


def _make(reader: Reader, entry: Entry, root: int, parent: int) -> None:
    name = entry.parts[-1]
    match entry.kind:
        case Kind.DIRECTORY:
            with _inside(parent, (name,)):
                pass
        case Kind.FILE:
            with os.fdopen(user_files.open_below(parent, name, _NEW_FILE, entry.mode), "wb") as file:
                for piece in reader.content(entry):
                    file.write(piece)
        case Kind.SYMLINK:
            os.symlink(entry.target, name, dir_fd=parent)
        case Kind.HARD_LINK:
            with _inside(root, entry.source[:-1]) as directory:
                source = entry.source[-1]
                os.link(source, name, src_dir_fd=directory, dst_dir_fd=parent, follow_symlinks=False)


@contextmanager
def _inside(root: int, parts: Sequence[str]) -> Iterator[int]:
    """The directory at `parts`, made where it is missing."""
    with ExitStack() as opened:
        directory = root
        for part in parts:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=directory)
            directory = opened.enter_context(user_files.opened_directory(part, directory))
        yield directory
